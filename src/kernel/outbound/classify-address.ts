import ipaddr from 'ipaddr.js';

/**
 * - `public`: global unicast, reachable by anyone.
 * - `private`: loopback, RFC 1918, carrier-grade NAT, unique local: an operator's own network.
 * - `special`: documentation, benchmarking, transition mechanisms and unassigned space: nothing a user means to call.
 * - `forbidden`: link-local, cloud metadata, unspecified, multicast, broadcast: never called, whatever the policy.
 */
export type AddressClass = 'public' | 'private' | 'special' | 'forbidden';

/**
 * Instance metadata services that do not live in link-local space, so that range checks alone would let them pass:
 * AWS (IPv6), Google Cloud (IPv6), Scaleway (IPv6), Alibaba Cloud, Oracle Cloud (classic), Azure's wire server.
 */
const METADATA_ADDRESSES = new Set(
  ['fd00:ec2::254', 'fd20:ce::254', 'fd00:42::42', '100.100.100.200', '192.0.0.192', '168.63.129.16'].map((text) =>
    ipaddr.parse(text).toString(),
  ),
);

/** RFC 6052's well-known prefix, behind which a NAT64 gateway reaches the IPv4 address in the last 32 bits. */
const NAT64_PREFIX = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

const CLASS_BY_RANGE: Readonly<Record<string, AddressClass>> = {
  unicast: 'public',
  private: 'private',
  loopback: 'private',
  carrierGradeNat: 'private',
  uniqueLocal: 'private',
  linkLocal: 'forbidden',
  deprecatedSiteLocal: 'forbidden',
  unspecified: 'forbidden',
  multicast: 'forbidden',
  broadcast: 'forbidden',
};

/**
 * The class of an IP address in text form (an IPv6 zone is ignored). IPv4-mapped and NAT64 addresses have the class of
 * the IPv4 address that they carry. Anything that is no IP address is `forbidden`.
 */
export function classifyAddress(text: string): AddressClass {
  const bare = text.split('%', 1)[0] ?? '';
  if (!ipaddr.isValid(bare)) return 'forbidden';
  // ipaddr.js reads the deprecated ::a.b.c.d (RFC 4291, 2.5.5.1) as IPv4-mapped, which it is not.
  if (/^::\d+\./.test(bare)) return 'special';
  const address = ipaddr.parse(bare);
  if (METADATA_ADDRESSES.has(address.toString())) return 'forbidden';
  if (address instanceof ipaddr.IPv4) return CLASS_BY_RANGE[address.range()] ?? 'special';
  const embedded = findEmbeddedIpv4(address);
  if (embedded !== undefined) return classifyAddress(embedded);
  const found = CLASS_BY_RANGE[address.range()] ?? 'special';
  // "unicast" is whatever no special range covers; of that only 2000::/3 is assigned for global use (RFC 4291, 2.4).
  return found === 'public' && !address.match(GLOBAL_UNICAST_V6) ? 'special' : found;
}

function findEmbeddedIpv4(address: ipaddr.IPv6): string | undefined {
  if (!address.isIPv4MappedAddress() && !address.match(NAT64_PREFIX)) return undefined;
  return address.toByteArray().slice(12).join('.');
}
