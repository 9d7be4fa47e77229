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
 * The host names in punycode, lower case, each once and sorted. Throws `bad_request` for
 * anything but 2 to 13 host names.
 */
export function readNameservers(hosts: readonly string[]): string[] {
  const read = [...new Set(hosts.map((host, index) => readHost(host, `nameservers.${index}`)))].sort();
  if (read.length >= LEAST && read.length <= MOST) return read;
  throw new ApiError('bad_request', {
    message: `\`nameservers\` must have ${LEAST} to ${MOST} different host names, or be "hosted" for the service’s own.`,
    param: 'nameservers',
  });
}

/** Throws `bad_request`, about that member, for what is no host name. */
export function readHost(text: string, param: string): string {
  const host = toASCII(text.replace(/\.$/, ''), STRICT) ?? '';
  const isHost = host.includes('.') && isIP(host) === 0 && !/\.\d+$/.test(host);
  if (!isHost) {
    throw new ApiError('bad_request', {
      message: `\`${param}\` is no host name. Send one like ns1.example.net.`,
      param,
    });
  }
  return host;
}
