/** What one address may do with a page: messages a minute, and guesses of its password. */
import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ApiError } from '../../kernel/http/errors.ts';
import { createMeter, type Meter } from '../../kernel/http/rate-limit.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { deploymentSecretContext, isPassword } from '../channels/index.ts';
import type { HostedPage } from './find-page.ts';

const WRONG_PASSWORDS_PER_MINUTE = 10;
/** Passwords that were found right, so that not every message costs the hash again. */
const REMEMBERED = 10_000;

export interface PageBounds {
  /** Throws `rate_limit_exceeded` with the seconds to wait. */
  countMessage(page: HostedPage, address: string): Promise<void>;
  /** Throws `password_required`, and `rate_limit_exceeded` after too many that were wrong. */
  checkPassword(page: HostedPage, address: string, password: string | undefined): Promise<void>;
}

export function createPageBounds(vault: Vault): PageBounds {
  const wrong = createMeter('passwords', WRONG_PASSWORDS_PER_MINUTE);
  const messages = new Map<number, Meter>();
  const right = new LRUCache<string, true>({ max: REMEMBERED });
  const key = randomBytes(32);
  return {
    async countMessage({ id, settings: { chats_per_minute: limit } }, address) {
      const meter = messages.get(limit) ?? createMeter('messages', limit);
      messages.set(limit, meter);
      await meter.take(`${id} ${address}`);
    },
    async checkPassword({ projectId, id, sealedSecrets }, address, password) {
      if (sealedSecrets === null) return;
      if (password === undefined) throw new ApiError('password_required', { param: 'password' });
      const digest = createHmac('sha256', key).update(`${sealedSecrets}\n${password}`).digest('base64url');
      if (right.has(digest)) return;
      // Taken before it is known, or guesses side by side would all be let through.
      await wrong.take(`${id} ${address}`);
      const secrets = JSON.parse(vault.open(sealedSecrets, deploymentSecretContext(projectId, id)));
      if (!(await isPassword(password, String(secrets.password)))) {
        throw new ApiError('password_required', { param: 'password' });
      }
      await wrong.giveBack(`${id} ${address}`);
      right.set(digest, true);
    },
  };
}
