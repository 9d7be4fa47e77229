import ipaddr from 'ipaddr.js';

/** One entry of the operator's list of addresses that users may reach although they are not public. */
export type AllowEntry =
  | { readonly kind: 'host'; readonly host: string; readonly port: number | undefined }
  | {
      readonly kind: 'network';
      readonly network: readonly [ipaddr.IPv4 | ipaddr.IPv6, number];
      readonly port: number | undefined;
    };

const HOST_NAME = /^(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*$/;

/**
 * Reads `host`, `host:port`, `10.0.0.5:8080`, `[fd00::5]:8080`, `fd00::5` or a CIDR such as `10.0.0.0/8`. Throws
 * `TypeError` with the reason and the remedy.
 */
export function parseAllowEntry(text: string): AllowEntry {
  const entry = text.trim().toLowerCase();
  if (entry.includes('/')) return { kind: 'network', network: parseNetwork(entry), port: undefined };
  const { host, port } = splitPort(entry);
  if (ipaddr.isValid(host)) {
    const address = ipaddr.process(host);
    return { kind: 'network', network: [address, address instanceof ipaddr.IPv4 ? 32 : 128], port };
  }
  const name = host.replace(/\.$/, '');
  if (!HOST_NAME.test(name)) {
    throw new TypeError(
      `"${text}" is no host, host:port or CIDR; write one such as intranet.example:8080 or 10.0.0.0/8`,
    );
  }
  return { kind: 'host', host: name, port };
}

/** Whether the list names this host (with this port) itself, so that every address it resolves to is meant. */
export function allowsHost(entries: readonly AllowEntry[], host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return entries.some(
    (entry) => entry.kind === 'host' && entry.host === name && (entry.port === undefined || entry.port === port),
  );
}

/** Whether the list names a network that holds this IP address. */
export function allowsAddress(entries: readonly AllowEntry[], text: string, port: number): boolean {
  const bare = text.split('%', 1)[0] ?? '';
  if (!ipaddr.isValid(bare)) return false;
  const address = ipaddr.process(bare);
  return entries.some(
    (entry) =>
      entry.kind === 'network' &&
      (entry.port === undefined || entry.port === port) &&
      entry.network[0].kind() === address.kind() &&
      address.match([entry.network[0], entry.network[1]]),
  );
}

function parseNetwork(entry: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (!ipaddr.isValidCIDR(entry)) {
    throw new TypeError(`"${entry}" is no CIDR; write an address, a slash and a prefix length, such as 10.0.0.0/8`);
  }
  return ipaddr.parseCIDR(entry);
}

function splitPort(entry: string): { host: string; port: number | undefined } {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(entry);
  const plain = /^([^:]+)(?::(\d+))?$/.exec(entry);
  const found = bracketed ?? plain;
  // A bare IPv6 address has colons and no port.
  if (found === null) return { host: entry, port: undefined };
  const port = found[2] === undefined ? undefined : Number(found[2]);
  if (port !== undefined && (port < 1 || port > 65_535)) {
    throw new TypeError(`"${entry}" has no valid port; use 1 to 65535`);
  }
  return { host: found[1] ?? '', port };
}
