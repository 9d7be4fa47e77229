import { WrittenJson } from '../../kernel/http/reply.ts';

/** An error that the protocol tells in its own words, with the status that it demands. */
export class JsonRpcError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.name = 'JsonRpcError';
    this.status = status;
    this.code = code;
  }

  reply(id: unknown): WrittenJson {
    const echoed = typeof id === 'string' || typeof id === 'number' ? id : null;
    const { code, message } = this;
    return new WrittenJson(
      Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: echoed, error: { code, message } })),
      this.status,
    );
  }
}
