import { buildConnector } from 'undici';
import type { AddressGuard, OutboundPolicy } from './address-guard.ts';
import { portOf } from './address-guard.ts';
import { answerWith } from './answer-with.ts';

/**
 * Connects to the very addresses that were checked: the name is resolved once, here, and the socket is given the
 * result. A name that resolves otherwise a moment later (DNS rebinding) gains nothing, and neither do redirects, for
 * each of their connections passes here.
 */
export function createGuardedConnector(
  guard: AddressGuard,
  policy: OutboundPolicy,
  timeoutMs: number,
): buildConnector.connector {
  return (options, callback) => {
    guard
      .resolve(options.hostname, portOf(options), policy)
      .then((addresses) => {
        const connect = buildConnector({
          lookup: answerWith(addresses),
          timeout: timeoutMs,
          allowH2: false,
          // A connector lives for one connection, so there is no second one to resume a TLS session.
          maxCachedSessions: 0,
        });
        connect(options, callback);
      })
      .catch((error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null));
  };
}
