/**
 * The one port for the JSON Schemas that callers bring. Limits are checked here, at once; compiling, validating and making
 * instances is done by child processes, which are ended when they take too long or too much memory. No foreign schema and
 * no foreign regular expression is compiled or run in this process.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  ChildCrashedError,
  ChildEndedError,
  ChildOutOfProcessorTimeError,
  ChildTimedOutError,
} from '../../kernel/child-process/child-errors.ts';
import { createChildPool } from '../../kernel/child-process/child-pool.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { JsonObject } from '../tables.ts';
import { admitSchema } from './check-limits.ts';
import type { SchemaProblem } from './schema-problem.ts';
import type { SchemaTask, TaskResult } from './schema-task.ts';

const MEBIBYTE = 1_048_576;

/**
 * Limits of the children, and how much processor time one task may take: compiling includes what is refused as no schema.
 */
export const childLimits = {
  children: 2,
  heapBytes: 512 * MEBIBYTE,
  residentBytes: 768 * MEBIBYTE,
  answerBytes: 4 * MEBIBYTE,
  idleMs: 120_000,
  compileMs: 10_000,
  validateMs: 10_000,
  instanceMs: 5_000,
} as const;

/**
 * So many times its processor time may a task take by the clock: a machine without a processor to spare refuses no innocent
 * schema, and what never ends does not hold a child for minutes.
 */
const CLOCK_FACTOR = 4;

/** What is kept of schemas that were compiled: whether they are usable. */
const MAX_KEPT = 2_000;
/** One that took too long may have done so because the machine was busy. */
const CUT_OFF_KEPT_MS = 600_000;

export interface AnswerProblem {
  /** In words. */
  readonly problem: string;
  /** Whether another answer is not worth asking for: the check itself takes too long or too much. */
  readonly isFinal: boolean;
}

export type MakeInstance = (schema: JsonObject | boolean, text: string) => Promise<unknown>;

export interface ForeignSchemas {
  /**
   * Why a schema that answers are to be checked by cannot be used; undefined where it can. `owner` is the project, each of
   * which gets its turn. Throws `service_overloaded` where no child is to be had.
   */
  findProblem(owner: string, schema: JsonObject): Promise<SchemaProblem | undefined>;
  /** What keeps the text from being an instance of the schema; undefined where nothing does. Throws the signal's reason. */
  findAnswerProblem(
    owner: string,
    schema: JsonObject,
    answer: string,
    signal?: AbortSignal,
  ): Promise<AnswerProblem | undefined>;
  /** Makes instances for this owner: valid ones where that can be done in the time, else the nearest that were found. */
  instanceMaker(owner: string): MakeInstance;
  /** Ends the children. */
  stop(): Promise<void>;
}

export interface ForeignSchemasOptions {
  readonly logger?: Pick<Logger, 'warn'>;
  readonly metrics?: Metrics;
  /** Where they differ from the default. */
  readonly limits?: Partial<Record<keyof typeof childLimits, number>>;
}

export function createForeignSchemas({ logger, metrics, limits }: ForeignSchemasOptions = {}): ForeignSchemas {
  const allowed = { ...childLimits, ...limits };
  const pool = createChildPool<SchemaTask, TaskResult>({
    name: 'schema checker',
    program: new URL('./child/program.ts', import.meta.url),
    children: allowed.children,
    heapBytes: allowed.heapBytes,
    residentBytes: allowed.residentBytes,
    answerBytes: allowed.answerBytes,
    idleMs: allowed.idleMs,
    // Ajv writes validators as code.
    evaluatesCode: true,
    ...(logger === undefined ? {} : { logger }),
    ...(metrics === undefined ? {} : { metrics }),
  });
  const kept = new LRUCache<string, { readonly problem: SchemaProblem | undefined }>({ max: MAX_KEPT });

  async function compile(owner: string, json: string): Promise<SchemaProblem | undefined> {
    const key = hash('sha256', json);
    const known = kept.get(key);
    if (known !== undefined) return known.problem;
    try {
      const result = await pool.run(owner, { kind: 'compile', schema: json }, within(allowed.compileMs));
      const problem = result.kind === 'compiled' ? result.problem : undefined;
      kept.set(key, { problem });
      return problem;
    } catch (error) {
      if (!(error instanceof ChildEndedError) || error instanceof ChildCrashedError) {
        const message = 'The schema could not be checked. Try again shortly.';
        throw new ApiError('service_overloaded', { message, retryAfterSeconds: 1, cause: error });
      }
      const problem = { pointer: '', problem: `that ${sayWhy(error, allowed.compileMs, 'to compile')}` };
      kept.set(key, { problem }, { ttl: CUT_OFF_KEPT_MS });
      return problem;
    }
  }

  return {
    async findProblem(owner, schema) {
      const admitted = admitSchema(schema);
      return 'problem' in admitted ? admitted.problem : compile(owner, admitted.json);
    },
    async findAnswerProblem(owner, schema, answer, signal) {
      try {
        const task = { kind: 'validate', schema: JSON.stringify(schema), answer } as const;
        const options = { ...within(allowed.validateMs), ...(signal === undefined ? {} : { signal }) };
        const result = await pool.run(owner, task, options);
        const problem = result.kind === 'validated' ? result.problem : undefined;
        return problem === undefined ? undefined : { problem, isFinal: false };
      } catch (error) {
        if (!(error instanceof ChildEndedError)) throw error;
        return { problem: `it ${sayWhy(error, allowed.validateMs, 'to check against its schema')}`, isFinal: true };
      }
    },
    instanceMaker: (owner) => async (schema, text) => {
      const task = { kind: 'instance', schema: JSON.stringify(schema), text } as const;
      // Only the check by the whole schema can take for ever.
      for (const isChecked of [true, false]) {
        try {
          const made = await pool.run(owner, { ...task, isChecked }, within(allowed.instanceMs));
          if (made.kind === 'made') return JSON.parse(made.json);
        } catch (error) {
          if (!(error instanceof ChildEndedError)) throw error;
        }
      }
      return {};
    },
    stop: () => pool.close(),
  };
}

function within(processorMs: number): { readonly processorMs: number; readonly timeoutMs: number } {
  return { processorMs, timeoutMs: processorMs * CLOCK_FACTOR };
}

function sayWhy(error: ChildEndedError, limitMs: number, what: string): string {
  if (error instanceof ChildTimedOutError || error instanceof ChildOutOfProcessorTimeError) {
    return `takes longer than ${limitMs / 1_000} seconds ${what}`;
  }
  return `takes more memory than there is ${what}`;
}
