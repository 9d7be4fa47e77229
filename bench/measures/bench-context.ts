import type { BenchDatabase } from '../database.ts';
import type { Ironcraft } from '../ironcraft.ts';
import type { SmithPool } from '../provision.ts';

/** What the measures of the server share. */
export interface BenchContext {
  readonly server: Ironcraft;
  readonly smiths: SmithPool;
  /** Undefined with the embedded store. */
  readonly database: BenchDatabase | undefined;
  readonly quick: boolean;
  /** How long `embedded` and `idle` load their servers. */
  readonly minutes: number;
  /** A folder for CPU profiles of servers. */
  readonly profileDir: string | undefined;
  /** Whether to measure beside what the field uses; installing it takes time and space. */
  readonly withPeers: boolean;
  /** What is put here ends with the server, and with the benchmark when it is interrupted. */
  readonly served: AsyncDisposableStack;
  /** Says what is going on, on stderr. */
  readonly say: (line: string) => void;
}

/** What every short run is asked for, ours and the peer's. */
export const SHORT_MESSAGE = 'Write 20 words';
export const CLIENTS = 16;
