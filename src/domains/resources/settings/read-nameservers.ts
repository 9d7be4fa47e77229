import { isIP } from 'node:net';
import { toASCII } from 'tr46';
import { ApiError } from '../../../kernel/http/errors.ts';

const LEAST = 2;
/** RFC 5731 and most registries: as many as fit into one answer of the root. */
const MOST = 13;

const STRICT = {
  checkBidi: true,
  checkHyphens: true,
  checkJoiners: true,
  useSTD3ASCIIRules: true,
  verifyDNSLength: true,
};

/**
 * The host names in punycode, lower case, each once and sorted. `name`: the domain that they are to serve. Throws
 * `bad_request` for anything but 2 to 13 host names outside of the domain.
 */
export function readNameservers(hosts: readonly string[], name: string): string[] {
  const read = [...new Set(hosts.map((host, index) => readHost(host, name, `nameservers.${index}`)))].sort();
  if (read.length >= LEAST && read.length <= MOST) return read;
  throw new ApiError('bad_request', {
    message: `\`nameservers\` must have ${LEAST} to ${MOST} different host names, or be "hosted" for the service’s own.`,
    param: 'nameservers',
  });
}

function readHost(text: string, name: string, param: string): string {
  const host = toASCII(text.replace(/\.$/, ''), STRICT) ?? '';
  const isHost = host.includes('.') && isIP(host) === 0 && !/\.\d+$/.test(host);
  if (!isHost) {
    throw new ApiError('bad_request', {
      message: `\`${param}\` is no host name. Send one like ns1.example.net.`,
      param,
    });
  }
  if (host === name || host.endsWith(`.${name}`)) {
    throw new ApiError('bad_request', {
      message: `${host} lies within ${name} and would need its address at the registry, which is not offered. Use nameservers outside of the domain.`,
      param,
    });
  }
  return host;
}
