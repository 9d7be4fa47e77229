/** What Slack's refusal of a message means for it. */
import { SendFailure } from '../channel.ts';
import { SlackProblem } from './web-api.ts';

/** What is about the content rather than the place. */
const UNREADABLE = /^(invalid_(blocks|attachments|metadata)|metadata_)/;
/** The token may be replaced, the scope be granted. */
const LATER = new Set(['invalid_auth', 'not_authed', 'token_expired', 'missing_scope', 'team_access_not_granted']);

/** `bucket`: whose pace the called method has. */
export function failureOf(error: unknown, bucket: 'chat' | 'account'): unknown {
  if (!(error instanceof SlackProblem)) return error;
  const { kind, code, message, retryAfterMs } = error;
  switch (kind) {
    case 'busy':
      return new SendFailure('paused', message, { retryAfterMs, bucket: code === '' ? bucket : 'account' });
    case 'unreached':
    case 'failed':
      return new SendFailure('unavailable', message, { cause: error });
    case 'unknown':
      return new SendFailure('unknown', message, { cause: error });
    case 'blocked':
      return new SendFailure('refused', message, { cause: error });
    case 'refused': {
      const meaning = UNREADABLE.test(code) ? 'unreadable' : LATER.has(code) ? 'unavailable' : 'refused';
      return new SendFailure(meaning, message, { cause: error });
    }
  }
}
