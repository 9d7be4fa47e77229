/** What the runner and its worker processes tell each other. */

export interface RunFile {
  readonly type: 'run';
  /** Relative to the repository. */
  readonly file: string;
  readonly limitMs: number;
}

/** The queue is empty: close what files share, and end. */
export interface End {
  readonly type: 'end';
}

export type Order = RunFile | End;

export interface Outcome {
  readonly state: 'passed' | 'failed' | 'skipped' | 'todo';
  /** From the outermost group to the test itself, without the file. */
  readonly path: readonly string[];
  /** Printed as it stands: what it failed with, or why it was skipped. Empty otherwise. */
  readonly error: string;
}

export interface FileReport {
  readonly file: string;
  readonly outcomes: readonly Outcome[];
  /** What tests wanted to be told to whoever runs them. */
  readonly diagnostics: readonly string[];
  readonly durationMs: number;
  /** Of the worker process, and of processes that the file has started and ended. */
  readonly processorMs: number;
  /** Of the worker process, after the file. */
  readonly residentBytes: number;
}

export type WorkerMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'finished'; readonly report: FileReport }
  /** Something that no file can be blamed for, or that shows only once all of them are through. */
  | { readonly type: 'trouble'; readonly text: string };
