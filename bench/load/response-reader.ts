/**
 * HTTP/1.1 responses out of a socket's bytes, as little of it as the benchmark needs: status, `content-length` or chunked
 * bodies, keep-alive. Far cheaper than a general client, so that on two cores the generator leaves the server its share.
 */
export class ResponseReader {
  readonly #onBody: (piece: Buffer) => void;
  readonly #onEnd: (status: number) => void;
  #state: 'head' | 'sized' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' = 'head';
  /** Of the current body or chunk, bytes to come. */
  #remaining = 0;
  /** The bytes of a head or line that has not wholly arrived. */
  #partial: Buffer | undefined;
  #status = 0;

  constructor(onBody: (piece: Buffer) => void, onEnd: (status: number) => void) {
    this.#onBody = onBody;
    this.#onEnd = onEnd;
  }

  feed(arrived: Buffer): void {
    const bytes = this.#partial === undefined ? arrived : Buffer.concat([this.#partial, arrived]);
    this.#partial = undefined;
    let position = 0;
    while (position < bytes.length) {
      const next = this.#readSome(bytes, position);
      if (next === undefined) {
        this.#partial = bytes.subarray(position);
        return;
      }
      position = next;
    }
  }

  /** The position after what was read; undefined when the line is not whole yet. */
  #readSome(bytes: Buffer, from: number): number | undefined {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes, from);
      case 'sized':
        return this.#readBody(bytes, from, () => this.#end());
      case 'chunk':
        return this.#readBody(bytes, from, () => {
          this.#state = 'chunk-end';
        });
      case 'chunk-end':
        if (bytes.length < from + 2) return undefined;
        this.#state = 'chunk-size';
        return from + 2;
      case 'chunk-size':
      case 'trailer':
        return this.#readLine(bytes, from);
    }
  }

  #readHead(bytes: Buffer, from: number): number | undefined {
    const end = bytes.indexOf('\r\n\r\n', from);
    if (end === -1) return undefined;
    const head = bytes.toString('latin1', from, end);
    this.#status = Number(head.slice(9, 12));
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) this.#state = 'chunk-size';
    else {
      this.#remaining = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      this.#state = 'sized';
      if (this.#remaining === 0) this.#end();
    }
    return end + 4;
  }

  #readBody(bytes: Buffer, from: number, whole: () => void): number {
    const to = Math.min(bytes.length, from + this.#remaining);
    this.#remaining -= to - from;
    this.#onBody(bytes.subarray(from, to));
    if (this.#remaining === 0) whole();
    return to;
  }

  #readLine(bytes: Buffer, from: number): number | undefined {
    const end = bytes.indexOf('\r\n', from);
    if (end === -1) return undefined;
    if (this.#state === 'chunk-size') {
      this.#remaining = Number.parseInt(bytes.toString('latin1', from, end), 16);
      this.#state = this.#remaining === 0 ? 'trailer' : 'chunk';
    } else if (end === from) this.#end();
    return end + 2;
  }

  #end(): void {
    this.#state = 'head';
    this.#onEnd(this.#status);
  }
}
