/**
 * Names that behave in a special way, so that each outcome can be tried. Of several prefixes the longest counts. Everything else
 * is free until somebody registers it.
 *
 * | label                                         | what happens                                                        |
 * |-----------------------------------------------|---------------------------------------------------------------------|
 * | `taken-…`, and some famous ones               | registered with another registrar, auth code `simulated-auth`       |
 * | `locked-…`                                    | the same, with clientTransferProhibited                             |
 * | `reject-transfer-…`                           | the same; its registrar rejects the transfer when its time is up    |
 * | `quick-transfer-…`                            | as `taken-…`; its transfer is done after two seconds                |
 * | `quick-reject-transfer-…`                     | as `reject-transfer-…`; rejected after two seconds                  |
 * | `reserved-…`, `nic`, `whois`, `www`           | reserved: cannot be registered                                      |
 * | `refuse-…`                                    | free; its registration is refused (2306)                            |
 * | `reject-…`                                    | free; its registration is accepted (1001) and fails later           |
 * | `slow-…`                                      | free; its registration takes ten minutes                            |
 * | `refuse-renew-…`                              | free; its renewals are refused (2306)                               |
 * | `reject-renew-…`                              | free; its renewals are accepted (1001) and fail later               |
 * | `refuse-trade-…`                              | free; other holders are refused (2306)                              |
 * | `reject-trade-…`                              | free; trades are accepted (1001), and one of both does not consent  |
 *
 * A name that is taken elsewhere and was transferred in is taken elsewhere again as soon as it is deleted, as by a
 * backorder.
 */
export type NamePolicy =
  | 'ordinary'
  | 'taken'
  | 'taken_locked'
  | 'taken_rejecting'
  | 'taken_quick'
  | 'taken_quick_rejecting'
  | 'reserved'
  | 'refuse_create'
  | 'fail_create'
  | 'slow_create'
  | 'refuse_renew'
  | 'fail_renew'
  | 'refuse_trade'
  | 'fail_trade';

/** The registrar of the names that are taken from the start. It renews them by itself. */
export const ELSEWHERE = 'elsewhere';
export const ELSEWHERE_CONTACT = 'ELSEWHERE';
export const ELSEWHERE_NAMESERVERS = ['ns1.elsewhere.example', 'ns2.elsewhere.example'] as const;
export const ELSEWHERE_AUTH_INFO = 'simulated-auth';
export const SLOW_CREATE_SECONDS = 600;
export const QUICK_TRANSFER_SECONDS = 2;

/** Longest first where one begins with another. */
const prefixes: readonly (readonly [prefix: string, policy: NamePolicy])[] = [
  ['quick-reject-transfer-', 'taken_quick_rejecting'],
  ['reject-transfer-', 'taken_rejecting'],
  ['quick-transfer-', 'taken_quick'],
  ['reject-renew-', 'fail_renew'],
  ['refuse-trade-', 'refuse_trade'],
  ['reject-trade-', 'fail_trade'],
  ['refuse-renew-', 'refuse_renew'],
  ['reserved-', 'reserved'],
  ['refuse-', 'refuse_create'],
  ['reject-', 'fail_create'],
  ['locked-', 'taken_locked'],
  ['taken-', 'taken'],
  ['slow-', 'slow_create'],
];
const famous = new Set([
  'amazon',
  'apple',
  'example',
  'facebook',
  'github',
  'google',
  'microsoft',
  'wikipedia',
  'youtube',
]);
const reserved = new Set(['nic', 'whois', 'www']);

export function policyOf(name: string): NamePolicy {
  const label = name.split('.', 1)[0] ?? name;
  if (famous.has(label)) return 'taken';
  if (reserved.has(label)) return 'reserved';
  return prefixes.find(([prefix]) => label.startsWith(prefix))?.[1] ?? 'ordinary';
}

export function isTakenElsewhere(policy: NamePolicy): boolean {
  return policy.startsWith('taken');
}

/** Whether the registrar that has the name rejects its transfer. */
export function rejectsTransfer(policy: NamePolicy): boolean {
  return policy === 'taken_rejecting' || policy === 'taken_quick_rejecting';
}

export function isQuickToTransfer(policy: NamePolicy): boolean {
  return policy === 'taken_quick' || policy === 'taken_quick_rejecting';
}
