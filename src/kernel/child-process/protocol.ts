/** What a child and its parent say to each other on the child's file descriptor 3. */

export const CHANNEL_FD = 3;

/** A question; its answer carries the same number. Several may be open at once. */
export interface ToChildFrame {
  readonly id: number;
  readonly message: unknown;
}

export type FromChildFrame =
  /** Once, when the program is loaded. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  /** In place of an answer that is larger than an answer may be. */
  | { readonly kind: 'too-large' };

/**
 * What a child's program exports. It may be asked again before it has answered. What it throws is a defect: the child
 * ends with it, and everybody who waits for an answer gets ChildCrashedError.
 */
export interface ChildProgram<ToChild, FromChild> {
  answer(message: ToChild): FromChild | Promise<FromChild>;
}

/** The arguments of a child's command line, after the file that runs it. */
export interface ChildArguments {
  readonly program: string;
  readonly answerBytes: number;
  /** The process id of the parent. */
  readonly parent: number;
}

export function writeArguments({ program, answerBytes, parent }: ChildArguments): string[] {
  return [program, String(answerBytes), String(parent)];
}

export function readArguments([program = '', answerBytes, parent]: readonly string[]): ChildArguments {
  return { program, answerBytes: Number(answerBytes), parent: Number(parent) };
}
