/** The pools of connections behind the guard, and the ways to call over them. */
import { Agent } from 'undici';
import type { AddressGuard, OutboundPolicy, UrlRules } from './address-guard.ts';
import { createGuardedConnector } from './guarded-connector.ts';
import { createGuardedFetch, type FetchLimits } from './guarded-fetch.ts';
import { createGuardedPost, type Post, type PostTimeouts } from './guarded-post.ts';

export interface GuardedAgents {
  fetch(rules: UrlRules, limits: FetchLimits): typeof globalThis.fetch;
  post(rules: UrlRules, timeouts: PostTimeouts): Post;
  close(): Promise<void>;
}

export function openAgents(guard: AddressGuard, connectTimeoutMs: number): GuardedAgents {
  const createAgent = (policy: OutboundPolicy): Agent =>
    new Agent({ connect: createGuardedConnector(guard, policy, connectTimeoutMs), allowH2: false });
  // One pool a policy: a connection that one of them made must not serve the other.
  const agents = { public: createAgent('public'), private: createAgent('private') };
  return {
    fetch(rules, limits) {
      return createGuardedFetch(guard, agents[rules.policy], rules, limits);
    },
    post(rules, timeouts) {
      return createGuardedPost(guard, agents[rules.policy], rules, timeouts);
    },
    async close() {
      await Promise.all([agents.public.destroy(), agents.private.destroy()]);
    },
  };
}
