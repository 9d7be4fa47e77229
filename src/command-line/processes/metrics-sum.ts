/** Metrics of several processes as one page. */
import type { Worker } from 'node:cluster';
import { setTimer } from '../../kernel/clock/timers.ts';
import { renderSum } from '../../kernel/metrics/metrics.ts';
import type { Service } from '../service-name.ts';
import type { FromServing } from './messages.ts';

/** A process that does not answer in time, as it is blocked or ends, is left out. */
const ANSWER_WITHIN_MS = 2_000;

export interface MetricsSum {
  /** The Prometheus text format. */
  render(service: Service): Promise<string>;
  /** What a process answered. */
  take(workerId: number, snapshot: Extract<FromServing, { readonly type: 'snapshot' }>): void;
}

interface Question {
  readonly waiting: Set<number>;
  readonly snapshots: (readonly object[])[];
  readonly answered: PromiseWithResolvers<void>;
}

export function createMetricsSum(listWorkers: () => readonly Worker[]): MetricsSum {
  const questions = new Map<number, Question>();
  let asked = 0;
  return {
    async render(service) {
      asked += 1;
      const id = asked;
      const workers = listWorkers();
      const question: Question = {
        waiting: new Set(workers.map((worker) => worker.id)),
        snapshots: [],
        answered: Promise.withResolvers(),
      };
      questions.set(id, question);
      for (const worker of workers) worker.send({ type: 'take snapshot', id, service }, () => undefined);
      const timer = setTimer(() => question.answered.resolve(), ANSWER_WITHIN_MS, { keepsProcess: true });
      await question.answered.promise;
      timer.cancel();
      questions.delete(id);
      return renderSum(question.snapshots);
    },
    take(workerId, { id, metrics }) {
      const question = questions.get(id);
      if (question === undefined || !question.waiting.delete(workerId)) return;
      question.snapshots.push(metrics);
      if (question.waiting.size === 0) question.answered.resolve();
    },
  };
}
