/** `X-Slack-Signature`: `v0=` and the hex HMAC of `v0:<timestamp>:<body>` under the app's signing secret. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../../kernel/http/errors.ts';

export const SIGNATURE_HEADER = 'x-slack-signature';
export const TIMESTAMP_HEADER = 'x-slack-request-timestamp';

const SIGNATURE = /^v0=([0-9a-f]{64})$/;
const SECONDS = /^\d{1,12}$/;
/** Older ones, and those of the future, are a replay. */
const TOLERANCE_SECONDS = 300;

type Header = string | string[] | undefined;

/** Whether the body was signed with a secret. */
export type SignatureCheck = (secret: string) => boolean;

/** Throws `missing_signature`, and `bad_signature` for what is no signature of about now. */
export function readSlackSignature(bytes: Buffer, signature: Header, timestamp: Header, now: Date): SignatureCheck {
  if (signature === undefined || timestamp === undefined) throw new ApiError('missing_signature');
  const hex = typeof signature === 'string' ? SIGNATURE.exec(signature)?.[1] : undefined;
  if (hex === undefined || typeof timestamp !== 'string' || !SECONDS.test(timestamp)) {
    throw new ApiError('bad_signature');
  }
  const age = now.getTime() / 1_000 - Number(timestamp);
  if (Math.abs(age) > TOLERANCE_SECONDS) throw new ApiError('bad_signature');
  const given = Buffer.from(hex, 'hex');
  return (secret) =>
    timingSafeEqual(createHmac('sha256', secret).update(`v0:${timestamp}:`).update(bytes).digest(), given);
}
