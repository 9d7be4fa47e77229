/** Nameservers below a domain, with their addresses, as callers write and read them. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ApiError } from '../../../kernel/http/errors.ts';
import { classifyAddress } from '../../../kernel/outbound/classify-address.ts';
import { isBelow } from '../../registry/host-steps.ts';
import type { RegistryHost } from '../../registry/registry.ts';
import { readHost } from './read-nameservers.ts';
import type { GlueHost } from './schema.ts';

/** Sorted, in canonical form. Throws `bad_request` for a host outside of the domain, or with an address that not everybody reaches. */
export function readGlue(given: readonly GlueHost[], name: string): RegistryHost[] {
  const hosts = given.map(({ host, addresses }, index): RegistryHost => {
    const param = `glue.${index}.host`;
    const read = readHost(host, param);
    if (!isBelow(read, name)) {
      throw new ApiError('bad_request', {
        message: `${read} does not lie below ${name}. Its addresses are given to the registry with the settings of the domain that it lies below.`,
        param,
      });
    }
    const own = addresses.map((address, at) => readAddress(address, `glue.${index}.addresses.${at}`));
    return { name: read, addresses: [...new Set(own)].sort() };
  });
  const twice = hosts.findIndex((host, index) => hosts.some((other, at) => at < index && other.name === host.name));
  if (twice < 0) return hosts.sort((a, b) => (a.name < b.name ? -1 : 1));
  throw new ApiError('bad_request', {
    message: `${hosts[twice]?.name} is there twice. Put all its addresses into one member.`,
    param: `glue.${twice}.host`,
  });
}

function readAddress(text: string, param: string): string {
  if (isIP(text) === 0 || text.includes('%')) {
    throw new ApiError('bad_request', { message: `\`${param}\` is no IP address. Send one like 198.41.0.4.`, param });
  }
  const address = ipaddr.parse(text);
  // An IPv6 address that carries an IPv4 one is no address of a server.
  if (classifyAddress(text) !== 'public' || address.range() !== 'unicast') {
    throw new ApiError('bad_request', {
      message: `Resolvers do not reach ${text}. Send the public address of the nameserver.`,
      param,
    });
  }
  return address.toString();
}

export function showGlue(hosts: readonly RegistryHost[]): GlueHost[] {
  return hosts.map(({ addresses, name }) => ({ host: name, addresses: [...addresses] }));
}

export function isSameGlue(some: readonly RegistryHost[], others: readonly RegistryHost[]): boolean {
  return JSON.stringify(showGlue(some)) === JSON.stringify(showGlue(others));
}
