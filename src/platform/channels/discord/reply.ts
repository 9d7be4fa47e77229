/** What an answer needs of the interaction that asked: its token is a webhook of its own, for a quarter of an hour. */
import { textAt } from '../provider/read-json.ts';
import { isSnowflake, timeOfSnowflake } from './snowflake.ts';

/** Discord ends it after fifteen minutes; a message that is under way must arrive before. */
const LIFETIME_MS = 15 * 60_000 - 10_000;
/** Before Discord has our acknowledgement of the interaction it knows nothing of it. */
export const SETTLING_MS = 10_000;

export interface InteractionReply {
  readonly id: string;
  readonly token: string;
}

export function writeReply(reply: InteractionReply): string {
  return JSON.stringify(reply);
}

/** Undefined where there is none. */
export function readReply(text: string | undefined): InteractionReply | undefined {
  if (text === undefined) return undefined;
  const read: unknown = JSON.parse(text);
  const id = textAt(read, 'id');
  const token = textAt(read, 'token');
  return isSnowflake(id) && token !== undefined ? { id, token } : undefined;
}

export function isLive({ id }: InteractionReply, now: Date): boolean {
  return ageMs({ id }, now) < LIFETIME_MS;
}

export function ageMs({ id }: Pick<InteractionReply, 'id'>, now: Date): number {
  return now.getTime() - timeOfSnowflake(id).getTime();
}
