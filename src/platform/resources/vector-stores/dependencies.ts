import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { KnowledgeSearch } from '../../knowledge/search/index.ts';

export interface VectorStoreDependencies {
  readonly jobs: Jobs;
  readonly search: KnowledgeSearch;
  readonly clock: Clock;
}
