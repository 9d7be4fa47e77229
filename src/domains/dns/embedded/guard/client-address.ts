/** Addresses as bytes, read for each query: without allocating anything. */

/** IPv4 or IPv6; an IPv4 address that is mapped into IPv6 counts as what it stands for. */
export class ClientAddress {
  readonly bytes = new Uint8Array(16);
  /** 4 or 16. */
  length = 0;

  /** False for what is no address; then nothing else may be asked. A zone (`%eth0`) is left out. */
  read(text: string): boolean {
    this.bytes.fill(0);
    if (!text.includes(':')) {
      this.length = 4;
      return this.#readV4(text, 0, 0);
    }
    this.length = 16;
    if (!this.#readV6(text)) return false;
    this.#unmap();
    return true;
  }

  /** Whether its first bits are those of `network`, which has at least so many. */
  isIn(network: Uint8Array, length: number, bits: number): boolean {
    if (length !== this.length) return false;
    const whole = bits >> 3;
    for (let at = 0; at < whole; at += 1) if (this.bytes[at] !== network[at]) return false;
    const mask = (0xff00 >> (bits & 7)) & 0xff;
    return mask === 0 || (((this.bytes[whole] ?? 0) ^ (network[whole] ?? 0)) & mask) === 0;
  }

  #readV4(text: string, from: number, at: number): boolean {
    let byte = 0;
    let parts = 0;
    let digits = 0;
    for (let index = from; index <= text.length; index += 1) {
      const code = index === text.length ? DOT : text.charCodeAt(index);
      if (code === DOT) {
        if (digits === 0 || byte > 255 || parts === 4) return false;
        this.bytes[at + parts] = byte;
        parts += 1;
        byte = 0;
        digits = 0;
      } else if (code >= 48 && code <= 57 && digits < 3) {
        byte = byte * 10 + code - 48;
        digits += 1;
      } else return false;
    }
    return parts === 4;
  }

  #readV6(text: string): boolean {
    const zone = text.indexOf('%');
    const end = zone === -1 ? text.length : zone;
    let at = 0;
    let gap = -1;
    let from = 0;
    if (text.charCodeAt(0) === COLON) {
      if (text.charCodeAt(1) !== COLON) return false;
      gap = 0;
      from = 2;
    }
    while (from < end) {
      let group = 0;
      let index = from;
      for (; index < end && text.charCodeAt(index) !== COLON; index += 1) {
        const code = text.charCodeAt(index);
        if (code === DOT) {
          if (at > 12 || !this.#readV4(zone === -1 ? text : text.slice(0, zone), from, at)) return false;
          at += 4;
          from = end;
          break;
        }
        const digit = hexDigit(code);
        if (digit < 0 || index - from > 3) return false;
        group = group * 16 + digit;
      }
      if (from === end) break;
      if (index === from || at > 14) return false;
      this.bytes[at] = group >> 8;
      this.bytes[at + 1] = group & 0xff;
      at += 2;
      from = index + 1;
      if (index < end && from < end && text.charCodeAt(from) === COLON) {
        if (gap !== -1) return false;
        gap = at;
        from += 1;
      } else if (index < end && from >= end) return false;
    }
    if (gap === -1) return at === 16;
    if (at > 14) return false;
    this.bytes.copyWithin(16 - (at - gap), gap, at);
    this.bytes.fill(0, gap, 16 - (at - gap));
    return true;
  }

  /** `::ffff:192.0.2.1`: what a socket for both families tells of a client by IPv4. */
  #unmap(): void {
    for (let at = 0; at < 10; at += 1) if (this.bytes[at] !== 0) return;
    if (this.bytes[10] !== 0xff || this.bytes[11] !== 0xff) return;
    this.bytes.copyWithin(0, 12, 16);
    this.bytes.fill(0, 4);
    this.length = 4;
  }
}

const DOT = 46;
const COLON = 58;

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const letter = code | 0x20;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

export interface Network {
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly bits: number;
}

/** `192.0.2.0/24`, `2001:db8::/32`, or one address. Undefined: it is no network. */
export function readNetwork(text: string): Network | undefined {
  const [, address = '', given] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? [];
  const client = new ClientAddress();
  if (!client.read(address)) return undefined;
  const bits = given === undefined ? client.length * 8 : Number(given);
  return bits > client.length * 8 ? undefined : { bytes: client.bytes, length: client.length, bits };
}
