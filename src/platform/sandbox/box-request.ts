/** What a box is asked for: a command, what it may take and see, and who is told. */
import type { BoxMounts } from './box-arguments.ts';
import type { BoxCgroups } from './cgroup/box-cgroup.ts';
import type { SandboxSettings } from './sandbox-settings.ts';
import type { ByteReader } from './tar-stream.ts';

/** Where the programs lie that a box is made with. */
export interface BoxPrograms {
  readonly bubblewrap: string;
  /** Undefined: the server is not root, and the box has its uid. */
  readonly setpriv: string | undefined;
}

export interface BoxRequest {
  readonly programs: BoxPrograms;
  readonly settings: SandboxSettings;
  /** Undefined: none were delegated, and memory is watched. */
  readonly cgroups: BoxCgroups | undefined;
  readonly mounts: BoxMounts;
  /** Among the boxes that run in this process at the same time, from 0. */
  readonly slot: number;
  readonly command: string;
  readonly timeoutMs: number;
  /** The values are masked in what the command writes out. */
  readonly secrets: ReadonlyMap<string, string>;
  /** A tar, from the top of the box; undefined: the workspace is empty. */
  readonly filling: AsyncIterable<Uint8Array> | undefined;
  /** Is given the tar of the workspace as the command left it; may throw WorkspaceError. */
  readonly takeWorkspace: (tar: ByteReader) => Promise<void>;
  /** The box is up, and the command begins. What it throws ends the box, and is thrown. */
  readonly started: () => Promise<void>;
  /** The command is over, after so many seconds; meanwhile the workspace is taken. What it throws is thrown. */
  readonly finished: (seconds: number) => Promise<void>;
  readonly signal: AbortSignal;
}
