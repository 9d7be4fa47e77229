/**
 * The program of the child processes that work on foreign schemas. Nothing here has a bound on its time or memory: the
 * parent has, and ends the process.
 */
import { makeInstance } from '../instance/schema-instance.ts';
import type { SchemaTask, TaskResult } from '../schema-task.ts';
import { compileSchema } from './compile-schema.ts';

export function answer(task: SchemaTask): TaskResult {
  switch (task.kind) {
    case 'compile': {
      const outcome = compileSchema(task.schema);
      return { kind: 'compiled', ...('problem' in outcome ? outcome : {}) };
    }
    case 'validate': {
      const problem = findAnswerProblem(task.schema, task.answer);
      return { kind: 'validated', ...(problem === undefined ? {} : { problem: cut(problem) }) };
    }
    case 'instance':
      return { kind: 'made', json: JSON.stringify(makeInstance(JSON.parse(task.schema), task.text, task)) };
  }
}

function findAnswerProblem(schema: string, text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  const outcome = compileSchema(schema);
  if ('problem' in outcome) return `it cannot be checked by a schema ${outcome.problem.problem}`;
  const { validate } = outcome;
  try {
    if (validate(value)) return undefined;
  } catch (error) {
    if (error instanceof RangeError) return 'it nests too deeply to be checked';
    throw error;
  }
  const [error] = validate.errors ?? [];
  return `answer${error?.instancePath.replaceAll('/', '.') ?? ''} ${error?.message ?? 'is not valid'}`;
}

function cut(text: string): string {
  return text.length <= PROBLEM_MAX_CHARS ? text : `${text.slice(0, PROBLEM_MAX_CHARS).toWellFormed()}…`;
}

const PROBLEM_MAX_CHARS = 2_500;
