/** A file that somebody sent, from the host where its provider keeps it. The caller has made sure that the host is the provider's. */
import type { Readable } from 'node:stream';
import { type Outbound, OutboundError, openBody } from '../../../kernel/outbound/outbound.ts';
import { AttachmentFailure } from '../channel.ts';

export interface ProviderFile {
  readonly address: string;
  /** Left out where a redirect leads to another origin. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of answers that another try would not change. */
  readonly finalStatuses: ReadonlySet<number>;
  /** Why the file cannot be had, for the model. */
  readonly gone: (why: string, cause?: unknown) => AttachmentFailure;
}

/** Throws what `gone` makes, for good; whatever else is thrown may pass. */
export async function openProviderFile(
  outbound: Pick<Outbound, 'fetch'>,
  { address, headers, finalStatuses, gone }: ProviderFile,
  signal: AbortSignal,
): Promise<Readable> {
  const fetch = outbound.fetch('public', { httpsOnly: true });
  const response = await fetch(address, { headers, signal }).catch((error: unknown) => {
    if (error instanceof OutboundError && error.reason !== 'unresolvable') throw gone(error.message, error);
    throw error;
  });
  if (response.ok && response.body !== null) return openBody(response.body);
  await response.body?.cancel();
  if (finalStatuses.has(response.status)) throw gone(`status ${response.status}`);
  throw new Error(`the host of a file answered ${response.status}`);
}

/** Makes the reason why a file of this name cannot be had. */
export function goneFrom(provider: string, filename: string): ProviderFile['gone'] {
  return (why, cause) => new AttachmentFailure(`The file ${filename} cannot be had from ${provider}: ${why}`, cause);
}
