/** What a hosted page is told when it is made. */
import { ApiError } from '../../kernel/http/errors.ts';
import type { JsonObject } from '../tables.ts';

export interface WebPage {
  readonly title: string;
  /** Shown before the first message; empty for none. */
  readonly greeting: string;
  /** Of one address. */
  readonly chats_per_minute: number;
  readonly new_visitors_per_day: number;
}

export const MAX_TITLE_CHARS = 120;
const MAX_GREETING_CHARS = 2_000;
const MAX_CHATS_PER_MINUTE = 1_000;
const MAX_NEW_VISITORS_PER_DAY = 1_000_000;

const DEFAULTS: WebPage = { title: 'Chat', greeting: '', chats_per_minute: 20, new_visitors_per_day: 1_000 };

/** The page with what was left out filled in. Throws `invalid_request`. */
export function readWebPage(metadata: JsonObject): WebPage {
  const { title, greeting, chats_per_minute: chats, new_visitors_per_day: visitors, ...unknown } = metadata;
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw invalid(other, `A page has no \`${other}\``);
  return {
    title: title === undefined ? DEFAULTS.title : readTitle(title, `${METADATA}.title`),
    greeting: greeting === undefined ? DEFAULTS.greeting : readGreeting(greeting),
    chats_per_minute: readCount('chats_per_minute', chats, MAX_CHATS_PER_MINUTE),
    new_visitors_per_day: readCount('new_visitors_per_day', visitors, MAX_NEW_VISITORS_PER_DAY),
  };
}

const METADATA = 'provider_metadata';

/** Throws `invalid_request` for what is no title. */
export function readTitle(title: unknown, param: string): string {
  if (typeof title === 'string' && title.trim() !== '' && title.length <= MAX_TITLE_CHARS) return title;
  throw new ApiError('invalid_request', {
    param,
    message: `A page's title is a text of 1 to ${MAX_TITLE_CHARS} characters.`,
  });
}

function readGreeting(greeting: unknown): string {
  if (typeof greeting === 'string' && greeting.length <= MAX_GREETING_CHARS) return greeting;
  throw invalid('greeting', `The greeting is a text of up to ${MAX_GREETING_CHARS} characters`);
}

function readCount(name: 'chats_per_minute' | 'new_visitors_per_day', value: unknown, max: number): number {
  if (value === undefined) return DEFAULTS[name];
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw invalid(name, `The setting is a whole number from 1 to ${max}`);
}

function invalid(name: string, problem: string): ApiError {
  return new ApiError('invalid_request', {
    param: `${METADATA}.${name}`,
    message: `${problem}. Send title, greeting, chats_per_minute and new_visitors_per_day as the kind \`web\` documents them.`,
  });
}
