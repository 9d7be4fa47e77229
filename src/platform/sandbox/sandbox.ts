/**
 * The sandbox of one process: commands of runs, each in a box of its own kind. A run has one box: its name and its workspace
 * outlive the process of bubblewrap that each command is, and go with the run to whichever replica has it.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { elapsedMs } from '../../kernel/clock/timers.ts';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { TenantDatabase } from '../store/tenant-db.ts';
import type { JsonObject } from '../tables.ts';
import type { OfferedSkill } from '../tools/tool.ts';
import { recordTenantUsage } from '../usage/index.ts';
import { type BoxState, insertBox, loadBoxState, removeBox, replaceWorkspace } from './box-rows.ts';
import type { BoxCgroups } from './cgroup/box-cgroup.ts';
import { prepareCgroups } from './cgroup/prepare-cgroups.ts';
import { type FoundSandbox, findSandbox, type SandboxProblem } from './find-sandbox.ts';
import { createHostFolder, type HostFolder, SUPERVISOR } from './host-folder.ts';
import { type BoxOutcome, runBox } from './run-box.ts';
import type { SandboxFiles, StoredOutput } from './sandbox-files.ts';
import type { SandboxSettings } from './sandbox-settings.ts';
import { WorkspaceError } from './tar-stream.ts';
import { fillFromArchive, fillFromInputs, type TakenWorkspace, takeWorkspace } from './workspace-archive.ts';

/** A file of a skill, as it is laid into boxes. */
export interface SkillFile {
  readonly path: string;
  readonly content: Uint8Array;
}

export interface SandboxDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly logger: Logger;
  readonly settings: SandboxSettings;
  readonly files: SandboxFiles;
  /** The files of a version; none where it has been deleted. */
  readonly readSkill: (projectId: string, skill: OfferedSkill) => AsyncIterable<SkillFile>;
  /** Folders of this machine that no box may see. */
  readonly privateFolders: readonly string[];
}

export interface Command {
  readonly projectId: string;
  readonly smithId: string;
  readonly runId: string;
  readonly command: string;
  readonly timeoutMs: number;
  readonly skills: readonly OfferedSkill[];
  readonly signal: AbortSignal;
}

export interface CommandOutcome extends BoxOutcome {
  readonly files: readonly (StoredOutput & { readonly path: string })[];
}

export interface Sandbox {
  readonly settings: SandboxSettings;
  /** Null: commands can be run. It is found out by running one, once; what is missing is looked for again after a while. */
  findProblem(): Promise<SandboxProblem | null>;
  /** Throws BoxError where no command has run, `storage_unavailable`, and the signal's reason. */
  run(command: Command): Promise<CommandOutcome>;
  /** The run's workspace is not wanted any more. */
  runEnded(run: { readonly projectId: string; readonly runId: string }): void;
  /** Removes the workspaces of runs that ended while no replica could. */
  sweep(signal: AbortSignal): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const RETRY_FIND_MS = 30_000;
const SWEPT_BOXES = 500;
/** Younger boxes may be of a run that is just being ended. */
const SWEEP_AGE = '10 minutes';

export function createSandbox(deps: SandboxDependencies): Sandbox {
  return new ProcessSandbox(deps);
}

class ProcessSandbox implements Sandbox {
  readonly settings: SandboxSettings;
  readonly #deps: SandboxDependencies;
  readonly #limit: ReturnType<typeof pLimit>;
  /** Which of the uids are free, the lowest first. */
  readonly #freeSlots: number[];
  /** The last command of each run that has one under way: the next one begins with what it left. */
  readonly #tails = new Map<string, Promise<unknown>>();
  /** Runs whose box this process has used. */
  readonly #boxed = new Set<string>();
  #host: Promise<HostFolder> | undefined;
  /** Undefined: there are none to be had, and memory is watched. */
  #cgroups: Promise<BoxCgroups | undefined> | undefined;
  #found: { readonly at: number; readonly result: Promise<FoundSandbox | SandboxProblem> } | undefined;

  constructor(deps: SandboxDependencies) {
    this.#deps = deps;
    this.settings = deps.settings;
    this.#limit = pLimit(deps.settings.boxes);
    this.#freeSlots = Array.from({ length: deps.settings.boxes }, (_, slot) => slot);
  }

  async findProblem(): Promise<SandboxProblem | null> {
    const found = await this.#find();
    return 'problem' in found ? found : null;
  }

  async run(command: Command): Promise<CommandOutcome> {
    const key = `${command.projectId}/${command.runId}`;
    const before = this.#tails.get(key) ?? Promise.resolve();
    const outcome = before.then(() => this.#limit(() => this.#runInSlot(command)));
    const tail = outcome.catch(() => undefined);
    this.#tails.set(key, tail);
    this.#boxed.add(key);
    try {
      return await outcome;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  runEnded({ projectId, runId }: { readonly projectId: string; readonly runId: string }): void {
    const key = `${projectId}/${runId}`;
    if (!this.#boxed.delete(key)) return;
    const { logger } = this.#deps;
    // What is left of it is swept.
    void this.#removeBox(projectId, runId).catch((error: unknown) =>
      logger.warn({ err: error, runId }, 'the workspace of a run was not removed'),
    );
  }

  async sweep(signal: AbortSignal): Promise<void> {
    const { rows } = await this.#deps.db.query<{ project_id: string; run_id: string }>({
      text: `
        select b.project_id, b.run_id from sandbox_boxes b
        where b.created_at < now() - interval '${SWEEP_AGE}' and not exists (
          select from runs r
          where r.project_id = b.project_id and r.id = b.run_id and r.status in ('in_progress', 'paused'))
        order by b.created_at limit ${SWEPT_BOXES}`,
      values: [],
    });
    for (const { project_id, run_id } of rows) {
      if (signal.aborted) return;
      await this.#removeBox(project_id, run_id);
    }
  }

  /** Removes what processes have left that died. Where that fails, commands will; everything else works. */
  async start(): Promise<void> {
    await this.#findCgroups();
    await this.#hostFolder().catch((error: unknown) =>
      this.#deps.logger.warn({ err: error }, 'no folder for sandboxes could be made among the temporary files'),
    );
  }

  async stop(): Promise<void> {
    const host = await this.#host?.catch(() => undefined);
    this.#host = undefined;
    await host?.remove();
    await (await this.#cgroups)?.settled();
  }

  /** Never throws. */
  #findCgroups(): Promise<BoxCgroups | undefined> {
    this.#cgroups ??= prepareCgroups(this.settings.cgroup).then((prepared) => {
      const { logger } = this.#deps;
      if (!('reason' in prepared)) {
        logger.info({ cgroup: prepared.base }, 'the memory of sandboxes is limited by cgroups');
        return prepared;
      }
      // Where nobody has asked for them, most servers have none: doctor tells of it.
      const level = ['auto', 'off'].includes(this.settings.cgroup) ? 'debug' : 'warn';
      logger[level]({ reason: prepared.reason, mend: prepared.mend }, 'the memory of sandboxes is watched');
      return undefined;
    });
    return this.#cgroups;
  }

  /** With cgroups where they are to be had and a box comes up in one. */
  async #search(): Promise<FoundSandbox | SandboxProblem> {
    const cgroups = await this.#findCgroups();
    const found = await findSandbox(this.settings, cgroups);
    if (cgroups === undefined || !('problem' in found)) return found;
    const without = await findSandbox(this.settings);
    if (!('problem' in without)) {
      this.#cgroups = Promise.resolve(undefined);
      this.#deps.logger.warn(
        { reason: found.problem },
        'the memory of sandboxes is watched: no box comes up in a cgroup',
      );
    }
    return without;
  }

  #hostFolder(): Promise<HostFolder> {
    if (this.#host !== undefined) return this.#host;
    const host = createHostFolder();
    this.#host = host;
    // The next command tries again.
    host.catch(() => {
      if (this.#host === host) this.#host = undefined;
    });
    return host;
  }

  #find(): Promise<FoundSandbox | SandboxProblem> {
    const now = elapsedMs();
    if (this.#found !== undefined && now - this.#found.at < RETRY_FIND_MS) return this.#found.result;
    const result = this.#search();
    const found = { at: now, result };
    this.#found = found;
    const keep = (sandbox: FoundSandbox | SandboxProblem) => {
      // What is there is there for good.
      if (!('problem' in sandbox) && this.#found === found) this.#found = { at: Number.POSITIVE_INFINITY, result };
    };
    // Whoever asked is told of a failure.
    result.then(keep, () => undefined);
    return result;
  }

  async #runInSlot(command: Command): Promise<CommandOutcome> {
    command.signal.throwIfAborted();
    const slot = this.#freeSlots.shift() ?? 0;
    try {
      return await this.#runIn(slot, command);
    } finally {
      this.#freeSlots.push(slot);
    }
  }

  async #runIn(slot: number, command: Command): Promise<CommandOutcome> {
    const found = await this.#find();
    if ('problem' in found) throw new Error(`${found.problem}. ${found.mend}`);
    const { projectId, smithId, runId, signal } = command;
    const { db, vault, files, privateFolders } = this.#deps;
    const home = new TenantDatabase(db, projectId);
    const state = await loadBoxState(home, vault, runId);
    if (state === undefined) throw new Error('The run is not there any more.');
    const host = await this.#hostFolder();
    const cgroups = await this.#findCgroups();
    const skills = await this.#unpackSkills(host, command);
    const stored: string[] = [];
    let taken: TakenWorkspace | undefined;
    try {
      const outcome = await runBox({
        ...{ programs: found.programs, settings: this.settings, cgroups, slot, secrets: state.secrets, signal },
        ...{ command: command.command, timeoutMs: command.timeoutMs },
        mounts: { hostFolder: host.path, skills: skills.byName, hidden: privateFolders },
        filling: await this.#fill(command, state),
        started: () => this.#tell(home, command, state, found),
        finished: async (seconds) => {
          await recordTenantUsage(home, [{ source: 'sandbox', smithId, seconds }]);
        },
        takeWorkspace: async (tar) => {
          taken = await this.#take(tar, projectId, state, (id) => stored.push(id));
        },
        signal,
      });
      const problem = taken === undefined ? undefined : await this.#commit(home, command, state, taken);
      const workspaceProblem = outcome.workspaceProblem ?? problem;
      return { ...outcome, workspaceProblem, files: workspaceProblem === undefined ? (taken?.outputs ?? []) : [] };
    } finally {
      await files.discard(projectId, stored);
      if (skills.folder !== undefined) await rm(skills.folder, { recursive: true, force: true });
    }
  }

  /** What the box starts with: what the run's last command left, or the files of the question. */
  async #fill(
    { projectId, smithId }: Command,
    { boxId, archive, input }: BoxState,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const { files } = this.#deps;
    if (archive !== null) return fillFromArchive(await files.openArchive(projectId, archive.id));
    const fileIds = boxId === null ? listFileIds(input) : [];
    const inputs = fileIds.length === 0 ? [] : await files.findInputs(projectId, smithId, fileIds);
    return inputs.length === 0 ? undefined : fillFromInputs(inputs);
  }

  async #take(
    tar: Parameters<typeof takeWorkspace>[0],
    projectId: string,
    state: BoxState,
    stored: (id: string) => void,
  ): Promise<TakenWorkspace> {
    const { files } = this.#deps;
    try {
      return await takeWorkspace(tar, {
        ...{ files, projectId, stored },
        archiveId: mintId('box'),
        // The names of files take room, too.
        maxBytes: this.settings.workspaceBytes,
        known: state.outputs,
      });
    } catch (error) {
      throw asWorkspaceError(error);
    }
  }

  /** Why the workspace stays as it was; undefined where it is the new one. */
  async #commit(
    home: TenantDatabase,
    { smithId, runId }: Command,
    state: BoxState,
    taken: TakenWorkspace,
  ): Promise<string | undefined> {
    const { files } = this.#deps;
    if (taken.archive === null && state.archive === null) return undefined;
    try {
      await home.transaction(async (tx) => {
        if (!(await replaceWorkspace(tx, runId, state.archive, taken.archive, taken.hashes))) {
          throw new WorkspaceError('the run goes on elsewhere');
        }
        await files.claimOutputs(tx, smithId, taken.outputs);
        await files.replaceArchive(tx, state.archive, taken.archive);
      });
      if (state.archive !== null) await files.discard(home.projectId, [state.archive.id]);
      return undefined;
    } catch (error) {
      const problem = asWorkspaceError(error);
      if (problem instanceof WorkspaceError) return problem.message;
      throw problem;
    }
  }

  async #tell(home: TenantDatabase, command: Command, state: BoxState, { version }: FoundSandbox): Promise<void> {
    if (state.boxId !== null) return;
    const { runId, smithId } = command;
    const image = { image: `bubblewrap ${version}`, imageDigest: imageDigest(version) };
    await home.transaction((tx) =>
      insertBox(tx, { runId, smithId, boxId: mintId('box'), actor: state.actor, ...image }),
    );
  }

  /** Read-only folders for the box; nobody but this command has them. */
  async #unpackSkills(
    host: HostFolder,
    { projectId, skills }: Command,
  ): Promise<{ folder: string | undefined; byName: ReadonlyMap<string, string> }> {
    if (skills.length === 0) return { folder: undefined, byName: new Map() };
    const folder = await host.makeFolder();
    const byName = new Map<string, string>();
    for (const [index, skill] of skills.entries()) {
      const home = join(folder, String(index));
      await mkdir(home);
      for await (const { path, content } of this.#deps.readSkill(projectId, skill)) {
        const target = join(home, path);
        await mkdir(dirname(target), { recursive: true });
        await writeFile(target, content);
      }
      byName.set(skill.name, home);
    }
    return { folder, byName };
  }

  async #removeBox(projectId: string, runId: string): Promise<void> {
    const { db, files } = this.#deps;
    const archive = await new TenantDatabase(db, projectId).transaction(async (tx) => {
      const removed = await removeBox(tx, runId);
      if (removed !== undefined && removed !== null) await files.replaceArchive(tx, removed, null);
      return removed;
    });
    if (archive !== undefined && archive !== null) await files.discard(projectId, [archive.id]);
  }
}

/** What the project has no room for is the workspace's fault, not the store's. */
function asWorkspaceError(error: unknown): unknown {
  return error instanceof ApiError && error.code === 'payload_too_large'
    ? new WorkspaceError(error.message.replace(/\.$/, ''))
    : error;
}

const FILE_PARTS: ReadonlySet<unknown> = new Set(['input_file', 'input_image', 'input_audio']);

/** What a box is made of: its program's version and what runs in it. */
function imageDigest(version: string): string {
  return `sha256:${createHash('sha256').update(version).update(readFileSync(SUPERVISOR)).digest('hex')}`;
}

/** The files that the turn's input names: `attachFiles` has found that they are there for whoever sent it. */
function listFileIds(input: readonly JsonObject[]): string[] {
  const ids = new Set<string>();
  for (const { content } of input) {
    for (const part of Array.isArray(content) ? (content as (JsonObject | null)[]) : []) {
      if (FILE_PARTS.has(part?.type) && typeof part?.file_id === 'string') ids.add(part.file_id);
    }
  }
  return [...ids];
}
