/** Which peers are proxies whose word is taken for where a request comes from. */
import { BlockList } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { TrustProxy } from '../config/parse-value.ts';

/** As Fastify knows them. */
const NAMED_NETWORKS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Whether who connects from an address is such a proxy. Where hops are counted, whoever connects is. */
export function createPeerCheck(trust: TrustProxy): (address: string) => boolean {
  if (trust === false) return () => false;
  if (typeof trust === 'function') return (address) => trust(address, 0);
  const proxies = new BlockList();
  for (const network of trust.flatMap((one) => NAMED_NETWORKS[one] ?? [one])) {
    const [address, length] = ipaddr.isValidCIDR(network)
      ? ipaddr.parseCIDR(network)
      : [ipaddr.parse(network), undefined];
    if (length === undefined) proxies.addAddress(address.toString(), address.kind());
    else proxies.addSubnet(address.toString(), length, address.kind());
  }
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const peer = ipaddr.process(address);
    return proxies.check(peer.toString(), peer.kind());
  };
}
