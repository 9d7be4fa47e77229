/** What this process and the small one that starts children for it say to each other, by Node's channel between them. */
import type { ProcessCommand, ProcessEnd } from './start-process.ts';
import type { ProgramCommand } from './start-program.ts';

export type ToSpawner =
  | ({ readonly kind: 'start'; readonly id: number } & ProcessCommand)
  | ({ readonly kind: 'start-program'; readonly id: number } & ProgramCommand)
  /** What is held open for the program is closed. */
  | { readonly kind: 'release'; readonly id: number }
  | { readonly kind: 'kill'; readonly id: number };

export type FromSpawner =
  /** Comes with the child's channel. */
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  | { readonly kind: 'told'; readonly id: number; readonly text: string }
  | ({ readonly kind: 'ended'; readonly id: number } & ProcessEnd);
