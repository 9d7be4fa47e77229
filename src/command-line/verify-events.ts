import { type Command, InvalidArgumentError } from 'commander';
import type { AnswerOf } from '../kernel/operator/index.ts';
import type { PlatformVerbs } from '../platform/operator/index.ts';
import { askPlatform } from './ask-platform.ts';
import { CommandError } from './command-error.ts';

type Verified = AnswerOf<PlatformVerbs, 'verify_events'>;

interface Head {
  readonly projectId: string;
  readonly position: number;
  readonly hash: string;
}

interface Options {
  readonly project?: string;
  readonly head?: readonly Head[];
}

const REASONS: Readonly<Record<string, string>> = {
  link_missing: 'a link of the chain is missing',
  event_missing: 'the event is gone',
  event_changed: 'the event, or a link before it, is not what was sealed',
  event_inserted: 'the event was put in behind the chain',
  head_differs: 'the chain was rewritten since that head was noted',
};

export function addVerifyEvents(events: Command): void {
  events
    .command('verify')
    .summary('prove that no event was changed, removed or put in')
    .description(
      'Goes through the chain of each project’s events: every event carries the hash of the one before it. Prints the head of ' +
        'each chain, and fails at the first broken link. Keep the heads elsewhere and give them back with --head: then a chain ' +
        'that was rewritten as a whole is found too. Works beside a running server and without one.',
    )
    .option('--project <id>', 'one project (default: all)')
    .option('--head <project:position:hash...>', 'heads that an earlier run printed', parseHead)
    .action(verifyAll);
}

function parseHead(text: string, earlier: readonly Head[] = []): Head[] {
  const [, projectId, position, hash] = /^([^:]+):(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (projectId === undefined || position === undefined || hash === undefined) {
    throw new InvalidArgumentError('Use a head as this command prints it: project:position:hash.');
  }
  return [...earlier, { projectId, position: Number(position), hash }];
}

async function verifyAll({ project, head: heads = [] }: Options): Promise<void> {
  let [projectId, after]: [string | undefined, Verified['place'] | undefined] = [project, undefined];
  for (;;) {
    const verified: Verified = await askPlatform('verify_events', {
      ...(projectId === undefined ? {} : { project_id: projectId }),
      ...(after === undefined ? {} : { after }),
    });
    if (verified.project_id === null) break;
    failWhereBroken(verified);
    const { place, is_end: isEnd, next_project_id: next } = verified;
    if (isEnd) process.stdout.write(`${verified.project_id}:${place.position}:${place.hash}\n`);
    else process.stderr.write(`${verified.project_id}: ${place.position} events so far\n`);
    if (isEnd && (project !== undefined || next === null)) break;
    [projectId, after] = isEnd ? [next ?? undefined, undefined] : [verified.project_id, place];
  }
  for (const { projectId: id, position, hash } of heads) {
    failWhereBroken(
      await askPlatform('verify_events', { project_id: id, after: { position, hash }, head: { position, hash } }),
    );
  }
}

function failWhereBroken({ project_id: projectId, broken }: Verified): void {
  if (broken === null) return;
  const event = broken.event_id === '' ? '' : ` (${broken.event_id})`;
  throw new CommandError(
    `The feed of ${projectId} is broken at link ${broken.position}${event}: ${REASONS[broken.reason] ?? broken.reason}.`,
  );
}
