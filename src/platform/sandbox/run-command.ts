/** `run_command`: the hosted tool by which models run commands in the box of their run. */
import type { HostedToolPart } from '../tools/hosted-tools.ts';
import type { OfferedSkill, Tool, ToolOutcome } from '../tools/tool.ts';
import { BoxError } from './run-box.ts';
import type { CommandOutcome, Sandbox } from './sandbox.ts';
import type { Excess } from './watch-box.ts';

const RUN_COMMAND = 'run_command';

const MAX_COMMAND_BYTES = 65_536;
/** What a model is given of each stream: the beginning and the end. */
const SHOWN_CHARACTERS = 32_768;

export function createRunCommand(sandbox: Sandbox): HostedToolPart {
  return {
    forTurn: (skills) => runCommand(sandbox, skills),
    findProblem: async () => {
      const found = await sandbox.findProblem();
      return found === null ? null : `${found.problem}. ${found.mend}`;
    },
  };
}

function runCommand(sandbox: Sandbox, skills: readonly OfferedSkill[]): Tool {
  const { settings } = sandbox;
  const limitSeconds = settings.commandMs / 1_000;
  return {
    name: RUN_COMMAND,
    description:
      'Runs a command with bash in a sandbox without network. It starts in /workspace, which keeps its files from command to ' +
      'command of this turn. The files of the question lie in /workspace/input; what the command leaves in ' +
      `/workspace/output is given to the user as files.${skills.length === 0 ? '' : ' Skills lie in /skills/<name>, read-only.'}`,
    parameters: {
      type: 'object',
      properties: {
        command: { type: 'string', description: 'What bash is to run; several lines are fine.' },
        timeout_seconds: {
          type: 'integer',
          minimum: 1,
          maximum: limitSeconds,
          description: `When the command is ended; ${limitSeconds} when left out.`,
        },
      },
      required: ['command'],
      additionalProperties: false,
    },
    requiresApproval: false,
    // What a command had done when its server died is not known.
    repeatable: false,
    execute: async ({ args, projectId, smithId, runId, signal }) => {
      const { command, timeout_seconds: timeoutSeconds = limitSeconds } = args;
      if (typeof command !== 'string' || command.trim() === '') return { error: '`command` must say what to run.' };
      if (command.includes('\0')) return { error: '`command` contains a NUL, which no command can.' };
      if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) {
        return {
          error: `\`command\` must have at most ${MAX_COMMAND_BYTES} bytes: write it to a file in several steps.`,
        };
      }
      if (!Number.isInteger(timeoutSeconds) || Number(timeoutSeconds) < 1 || Number(timeoutSeconds) > limitSeconds) {
        return { error: `\`timeout_seconds\` must be a whole number from 1 to ${limitSeconds}.` };
      }
      const timeoutMs = Number(timeoutSeconds) * 1_000;
      try {
        const outcome = await sandbox.run({ projectId, smithId, runId, command, timeoutMs, skills, signal });
        return describe(outcome, sandbox);
      } catch (error) {
        if (error instanceof BoxError) return { error: error.message };
        throw error;
      }
    },
  };
}

function describe(outcome: CommandOutcome, { settings }: Sandbox): ToolOutcome {
  const { exitCode, stdout, stderr, timedOut, excess, workspaceProblem, files } = outcome;
  const warnings = [
    ...(excess === undefined ? [] : [explainExcess(excess, settings)]),
    ...(workspaceProblem === undefined
      ? []
      : [`/workspace is as it was before this command, and no files were taken: ${workspaceProblem}.`]),
  ];
  const output = {
    exit_code: exitCode,
    stdout: stdout.text,
    stderr: stderr.text,
    timed_out: timedOut,
    truncated: stdout.truncated || stderr.truncated,
    files: files.map(({ id, path, filename, bytes }) => ({ file_id: id, path: `output/${path}`, filename, bytes })),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
  const shown = { ...output, stdout: shorten(stdout.text), stderr: shorten(stderr.text) };
  const isShort = shown.stdout === output.stdout && shown.stderr === output.stderr;
  return isShort ? { output } : { output, forModel: JSON.stringify(shown) };
}

function explainExcess(
  excess: Excess,
  { memoryBytes, processes }: Pick<Sandbox['settings'], 'memoryBytes' | 'processes'>,
): string {
  switch (excess) {
    case 'memory':
      return `The command was ended: its processes and files took more than ${memoryBytes} bytes of memory.`;
    case 'processes':
      return `The command was ended: it had more than ${processes} processes.`;
    case 'files':
      return 'The command was ended: it had made too many files.';
    case 'sockets':
      return 'The command was ended: it had opened too many sockets.';
  }
}

function shorten(text: string): string {
  if (text.length <= SHOWN_CHARACTERS) return text;
  const half = SHOWN_CHARACTERS / 2;
  const left = text.length - SHOWN_CHARACTERS;
  return `${text.slice(0, half).toWellFormed()}\n[… ${left} characters left out …]\n${text.slice(-half).toWellFormed()}`;
}
