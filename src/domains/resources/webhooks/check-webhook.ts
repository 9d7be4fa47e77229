import { ApiError } from '../../../kernel/http/errors.ts';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';
import { isSelector } from '../../events/index.ts';

/** Looks the host up. Throws `bad_request`. */
export async function checkWebhookUrl(outbound: Pick<Outbound, 'checkUrl'>, url: string): Promise<void> {
  try {
    await outbound.checkUrl(url, { policy: 'public', httpsOnly: true });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw new ApiError('bad_request', { param: 'url', message: `\`url\` is refused: ${error.message}.` });
  }
}

/** A selector that means nothing would be a webhook that waits for ever. Throws `bad_request`. */
export function checkSelectors(events: readonly string[]): void {
  const unknown = events.findIndex((selector) => !isSelector(selector));
  if (unknown === -1) return;
  throw new ApiError('bad_request', {
    param: `events.${unknown}`,
    message:
      `${JSON.stringify(events[unknown])} is neither a type of event nor a family of types. ` +
      'Send a type (`order.completed`), a family (`domain`), or an empty list for every event.',
  });
}
