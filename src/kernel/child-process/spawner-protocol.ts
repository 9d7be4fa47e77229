/** What this process and the small one that starts children for it say to each other, by Node's channel between them. */
import type { ProcessCommand, ProcessEnd } from './start-process.ts';

export type ToSpawner =
  | ({ readonly kind: 'start'; readonly id: number } & ProcessCommand)
  | { readonly kind: 'kill'; readonly id: number };

export type FromSpawner =
  /** Comes with the child's channel. */
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  | ({ readonly kind: 'ended'; readonly id: number } & ProcessEnd);
