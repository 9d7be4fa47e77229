/**
 * The reporter of a worker process: collects what node:test tells of the file that runs. The file is the outermost suite,
 * and node:test reports in the order of declaration, so all that comes before that suite's own end belongs to it.
 */
import { inspect } from 'node:util';
import type { Outcome } from './messages.ts';

interface Details {
  readonly type?: string;
  readonly error?: { readonly failureType?: string; readonly cause?: unknown };
}

interface Event {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly nesting?: number;
    readonly message?: string;
    readonly skip?: string | boolean;
    readonly todo?: string | boolean;
    readonly details?: Details;
  };
}

export interface SuiteReport {
  readonly outcomes: readonly Outcome[];
  readonly diagnostics: readonly string[];
}

/** A suite or test that failed for nothing but what failed inside it has been told of already. */
const BECAUSE_OF_ANOTHER = 'subtestsFailed';

const SUMMARY = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

let path: string[] = [];
let outcomes: Outcome[] = [];
let diagnostics: string[] = [];
let finish: ((report: SuiteReport) => void) | undefined;

/** Resolves once the outermost suite that is declared next has ended, its hooks included. */
export function nextSuite(): Promise<SuiteReport> {
  return new Promise((resolve) => {
    finish = resolve;
  });
}

/** What it yields is what no file can be blamed for: it comes when the process ends. */
export default async function* collectEvents(source: AsyncIterable<Event>): AsyncGenerator<string> {
  for await (const event of source) {
    const { type, data } = event;
    if (type === 'test:diagnostic' && data.nesting === 0 && !SUMMARY.test(data.message ?? ''))
      yield `${data.message}\n`;
    else collect(event);
  }
}

function collect({ type, data }: Event): void {
  const { name = '', nesting = 0 } = data;
  if (type === 'test:start') path = [...path.slice(0, nesting), name];
  else if (type === 'test:diagnostic' && nesting > 0) diagnostics.push(data.message ?? '');
  else if (type === 'test:pass' || type === 'test:fail') {
    const outcome = judge(type === 'test:pass', [...path.slice(0, nesting), name].slice(1), nesting, data);
    if (outcome !== undefined) outcomes.push(outcome);
    if (nesting === 0) end();
  }
}

function judge(passed: boolean, ownPath: string[], nesting: number, data: Event['data']): Outcome | undefined {
  const { details = {} } = data;
  const outcome = (state: Outcome['state'], error = ''): Outcome => ({ state, path: ownPath, error });
  if (!passed && isSet(data.todo)) return outcome('todo');
  if (!passed && details.error?.failureType === BECAUSE_OF_ANOTHER) return undefined;
  if (!passed) return outcome('failed', inspect(details.error?.cause ?? details.error, { depth: 6 }));
  if (isSet(data.skip)) return outcome('skipped', typeof data.skip === 'string' ? data.skip : '');
  if (details.type === 'suite' || nesting === 0) return undefined;
  return outcome(isSet(data.todo) ? 'todo' : 'passed');
}

/** node:test gives the reason, which may be empty, or true. */
function isSet(value: string | boolean | undefined): boolean {
  return value !== undefined && value !== false;
}

function end(): void {
  const report = { outcomes, diagnostics };
  path = [];
  outcomes = [];
  diagnostics = [];
  finish?.(report);
}
