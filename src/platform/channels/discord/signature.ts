/** `X-Signature-Ed25519` over `X-Signature-Timestamp` and the body, by the application's key. */
import { verifyKey } from 'discord-interactions';
import { ApiError } from '../../../kernel/http/errors.ts';

const SIGNATURE = /^[0-9a-f]{128}$/i;
const SECONDS = /^\d{1,12}$/;
/** Older ones, and those of the future, are a replay. */
const TOLERANCE_SECONDS = 300;

type Header = string | string[] | undefined;

export interface DiscordSignature {
  readonly signature: string;
  readonly timestamp: string;
}

/** Throws `missing_signature`, and `bad_signature` for what is no signature of about now. */
export function readDiscordSignature(signature: Header, timestamp: Header, now: Date): DiscordSignature {
  if (signature === undefined || timestamp === undefined) throw new ApiError('missing_signature');
  if (typeof signature !== 'string' || typeof timestamp !== 'string') throw new ApiError('bad_signature');
  if (!SIGNATURE.test(signature) || !SECONDS.test(timestamp)) throw new ApiError('bad_signature');
  const age = now.getTime() / 1_000 - Number(timestamp);
  if (Math.abs(age) > TOLERANCE_SECONDS) throw new ApiError('bad_signature');
  return { signature, timestamp };
}

export function isSignedBy(
  publicKey: string,
  bytes: Buffer,
  { signature, timestamp }: DiscordSignature,
): Promise<boolean> {
  return verifyKey(bytes, signature, timestamp, publicKey);
}
