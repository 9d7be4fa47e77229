/** What the steps of one execution share. */
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Credits } from '../../billing/index.ts';
import type { ChatModel, ModelCallLimits } from '../../models/index.ts';
import type { ForeignSchemas } from '../../schemas/index.ts';
import type { ListedTools, RequestServers } from '../../tools/request-servers.ts';
import type { OfferedTools, Tool } from '../../tools/tool.ts';
import type { HeldQuestions } from '../replica/held-questions.ts';
import type { TurnWriter } from '../store/turn-writer.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import type { PartialAnswer } from './collect-answer.ts';
import { TurnJournal } from './turn-journal.ts';
import type { TurnState } from './turn-state.ts';

export interface TurnDependencies {
  readonly db: Database;
  readonly replicaId: string;
  readonly turns: TurnWriter;
  readonly held: Pick<HeldQuestions, 'add'>;
  readonly logger: Logger;
  readonly modelCall: Partial<ModelCallLimits> | undefined;
  readonly flush: () => Promise<void>;
  readonly openModel: () => Promise<ChatModel>;
  /** The prompt with the bytes of the files that it refers to. */
  readonly loadFiles: (prompt: LanguageModelV4Prompt) => Promise<LanguageModelV4Prompt>;
  readonly schemas: ForeignSchemas;
  readonly requestServers: RequestServers;
  /** `lists`: of the servers that the request brought, by label. */
  readonly listTools: (lists: ReadonlyMap<string, ListedTools>) => Promise<Required<OfferedTools>>;
  /** Whether an earlier attempt at this turn was cut off. */
  readonly restarted: boolean;
  readonly credits: Credits;
  /** As of `BudgetDependencies`. */
  readonly budgetWaitMs: number | undefined;
  /** Nobody reads along: the model may be asked for buffered answers. */
  readonly buffered: boolean;
}

export class TurnContext {
  readonly deps: TurnDependencies;
  readonly live: LiveTurn;
  readonly state: TurnState;
  readonly journal: TurnJournal;
  tools: ReadonlyMap<string, Tool> = new Map();
  /** The model call under way: what a cancelled or failed one has used and said. */
  call:
    | {
        readonly prompt: LanguageModelV4Prompt;
        readonly partial: PartialAnswer;
        /** ISO-8601. */
        readonly startedAt: string;
      }
    | undefined;

  constructor(deps: TurnDependencies, live: LiveTurn, state: TurnState) {
    this.deps = deps;
    this.live = live;
    this.state = state;
    this.journal = new TurnJournal(deps.turns, live, state);
  }

  /** Throws the reason of the turn's abort. */
  throwIfStopped(): void {
    if (this.live.abort.signal.aborted) throw this.live.abort.signal.reason;
  }
}
