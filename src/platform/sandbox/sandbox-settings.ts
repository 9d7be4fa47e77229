/** Limits of the box, set by the environment (docs/operating.md). */
export interface SandboxSettings {
  /** Path of `bwrap`; undefined: the first one in the search path. */
  readonly bubblewrap: string | undefined;
  /** Of one command, and what it has unless it asks for less. */
  readonly commandMs: number;
  /** Of all processes of a box together, with what lies in its workspace and its temporary folders. */
  readonly memoryBytes: number;
  readonly processes: number;
  /** Of standard output and of standard error, each. */
  readonly streamBytes: number;
  readonly workspaceBytes: number;
  /** Boxes that run at the same time in this process; further commands wait. */
  readonly boxes: number;
  /** Where the server runs as root: box number n of the process runs as this uid + n. */
  readonly firstUid: number;
  /** `auto`: the server's own where it was delegated; `off`; else the folder of the cgroup that boxes get theirs in. */
  readonly cgroup: string;
}
