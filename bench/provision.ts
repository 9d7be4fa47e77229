import Type from 'typebox';
import { Parse } from 'typebox/value';
import type { Ironcraft } from './ironcraft.ts';

const Identified = Type.Object({ id: Type.String() });
const AT_ONCE = 8;

/** Creates and publishes an agent that answers with the built-in model. Returns its id. */
export async function createAgent(server: Ironcraft, token: string, name: string): Promise<string> {
  const body = { name, model: 'builtin/demo', instructions: 'Do what the message says.' };
  const { id } = Parse(Identified, await server.call(token, 'POST', '/v1/agents', body));
  await server.call(token, 'POST', `/v1/agents/${id}/versions`, {});
  return id;
}

/** Smiths of one agent, made as they are first needed: a smith runs one turn at a time, so each client has its own. */
export class SmithPool {
  readonly #server: Ironcraft;
  readonly #ids: string[] = [];
  #agentId: Promise<string> | undefined;

  constructor(server: Ironcraft) {
    this.#server = server;
  }

  async take(count: number): Promise<string[]> {
    const token = this.#server.credentials.tenant_token;
    this.#agentId ??= createAgent(this.#server, token, 'Benchmark');
    const agentId = await this.#agentId;
    while (this.#ids.length < count) {
      const numbers = Array.from(
        { length: Math.min(AT_ONCE, count - this.#ids.length) },
        (_, k) => this.#ids.length + k,
      );
      const made = await Promise.all(
        numbers.map(async (number) => {
          const body = { agent_id: agentId, external_id: `bench-${number}` };
          return Parse(Identified, await this.#server.call(token, 'POST', '/v1/smiths', body)).id;
        }),
      );
      this.#ids.push(...made);
    }
    return this.#ids.slice(0, count);
  }
}
