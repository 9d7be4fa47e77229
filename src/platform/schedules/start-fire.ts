/** Begins the turn of one delivery. */
import { ApiError } from '../../kernel/http/errors.ts';
import { isId } from '../../kernel/ids/ids.ts';
import type { Engine, InputMessage } from '../engine/index.ts';
import { type BegunSegment, claimKey, findBegun, startTurn, UNCHANGED_SETTINGS } from '../surfaces/index.ts';
import type { QueuedFire } from './queue-store.ts';
import { wallTimeOf } from './zone-time.ts';

/**
 * The delivery's id is the key of the turn, so that a delivery that is started twice begins one. `isRepeated`: somebody may
 * have begun it before. Throws what `startTurn` does.
 */
export async function startFire(engine: Engine, fire: QueuedFire, isRepeated: boolean): Promise<BegunSegment> {
  const { project_id: projectId, smith_id: smithId, schedule_id, thread_id: threadId } = fire;
  const idempotency = claimKey('schedules.fire', fire.id, schedule_id);
  const before = isRepeated ? await findBegun(engine.db, projectId, idempotency) : undefined;
  if (before !== undefined) return before;
  const isGone = isId('cnv', threadId) && !fire.is_conversation;
  if (isGone) throw new ApiError('conversation_not_found', { param: 'thread_id' });
  return startTurn(engine, {
    projectId,
    smithId,
    ...(threadId === null ? {} : { threadId }),
    input: inputOf(fire),
    settings: UNCHANGED_SETTINGS,
    channel: 'schedule',
    metadata: { schedule_id, delivery_id: fire.id },
    actor: { kind: 'smith', id: smithId, token_id: '', email: '' },
    // Whoever wrote the schedule could get the files that it names.
    reader: null,
    idempotency,
    buffered: true,
  });
}

/** A schedule that says nothing still has to wake the smith with something: a turn begins with a message. */
function inputOf(fire: QueuedFire): readonly InputMessage[] {
  if (fire.input.length > 0) return fire.input as unknown as readonly InputMessage[];
  const { name, schedule_id, timezone, due_at, kind } = fire;
  const local = new Date(wallTimeOf(timezone, due_at.getTime())).toISOString().slice(0, 16).replace('T', ' ');
  const when = kind === 'manual' ? 'is run by hand' : 'is due';
  return [{ role: 'user', content: `The schedule ${name ?? schedule_id} ${when}: ${local} (${timezone}).` }];
}
