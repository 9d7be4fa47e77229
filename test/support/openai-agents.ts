/** OpenAI's SDK for agents, which listens to the process from the moment that it is loaded: until the file's tests are over. */
import { after } from 'node:test';

const LISTENED_TO = ['unhandledRejection', 'SIGINT', 'SIGTERM'] as const;

export async function loadAgents() {
  const before = LISTENED_TO.map((event) => new Set<unknown>(process.listeners(event as 'SIGINT')));
  const agents = await import('@openai/agents');
  after(() => {
    for (const [index, event] of LISTENED_TO.entries()) {
      for (const listener of process.listeners(event as 'SIGINT')) {
        if (before[index]?.has(listener) === false) process.off(event, listener);
      }
    }
  });
  agents.setTracingDisabled(true);
  return agents;
}
