import Type from 'typebox';
import { Parse } from 'typebox/value';
import type { Ironcraft } from './ironcraft.ts';

const Identified = Type.Object({ id: Type.String() });
const AT_ONCE = 8;

const BUILTIN_MODEL = 'builtin/demo';

/** Creates and publishes an agent. Returns its id. */
export async function createAgent(
  server: Ironcraft,
  token: string,
  name: string,
  model: string = BUILTIN_MODEL,
  settings: object = {},
): Promise<string> {
  const body = { name, model, instructions: 'Do what the message says.', ...settings };
  const { id } = Parse(Identified, await server.call(token, 'POST', '/v1/agents', body));
  await server.call(token, 'POST', `/v1/agents/${id}/versions`, {});
  return id;
}

interface PooledAgent {
  readonly name: string;
  /** The built-in one when absent. */
  readonly model?: string;
  /** Further members of its draft. */
  readonly settings?: object;
}

/** Smiths of one agent, made as they are first needed: a smith runs one turn at a time, so each client has its own. */
export class SmithPool {
  readonly #server: Ironcraft;
  readonly #agent: PooledAgent;
  readonly #ids: string[] = [];
  #agentId: Promise<string> | undefined;

  constructor(server: Ironcraft, agent: PooledAgent = { name: 'Benchmark' }) {
    this.#server = server;
    this.#agent = agent;
  }

  async take(count: number): Promise<string[]> {
    const token = this.#server.credentials.tenant_token;
    this.#agentId ??= createAgent(this.#server, token, this.#agent.name, this.#agent.model, this.#agent.settings);
    const agentId = await this.#agentId;
    while (this.#ids.length < count) {
      const numbers = Array.from(
        { length: Math.min(AT_ONCE, count - this.#ids.length) },
        (_, k) => this.#ids.length + k,
      );
      const made = await Promise.all(
        numbers.map(async (number) => {
          const body = { agent_id: agentId, external_id: `${this.#agent.name}-${number}` };
          return Parse(Identified, await this.#server.call(token, 'POST', '/v1/smiths', body)).id;
        }),
      );
      this.#ids.push(...made);
    }
    return this.#ids.slice(0, count);
  }
}
