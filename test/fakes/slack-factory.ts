/** What makes apps at Slack on loopback: configuration tokens, each replaced once, and manifests. */
import { randomBytes } from 'node:crypto';
import type { FakeSlackApp } from './slack-api.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

export interface MadeSlackApp extends FakeSlackApp {
  readonly appId: string;
  manifest: Json;
}

export interface ConfigTokens {
  readonly config_token: string;
  readonly config_refresh_token: string;
}

export interface SlackFactory {
  /** Somebody generates a pair, by hand. */
  addTokens(): ConfigTokens;
  /** Twelve hours pass. */
  expire(configToken: string): void;
  /** How often a token was to be replaced by this one. */
  rotationsOf(refreshToken: string): number;
  /** Those that are there, oldest first. */
  readonly apps: readonly MadeSlackApp[];
}

const MAX_DESCRIPTION_CHARS = 140;
const LIFETIME_SECONDS = 43_200;

/** `makeApp`: another app, which Slack goes on to know. */
export function createSlackFactory(makeApp: () => FakeSlackApp): SlackFactory & {
  /** Undefined: the method is another one's. */
  answer(method: string, args: Json, token: string | undefined): Json | undefined;
} {
  const apps: MadeSlackApp[] = [];
  const tokens = new Set<string>();
  const refreshTokens = new Set<string>();
  const brought: string[] = [];

  function addTokens(): ConfigTokens {
    const [config_token, config_refresh_token] = [`xoxe.xoxp-1-${newSecret()}`, `xoxe-1-${newSecret()}`];
    tokens.add(config_token);
    refreshTokens.add(config_refresh_token);
    return { config_token, config_refresh_token };
  }

  const methods: Record<string, (args: Json) => Json> = {
    'apps.manifest.validate': ({ manifest }) => checkManifest(JSON.parse(manifest)),
    'apps.manifest.create'({ manifest }) {
      const refusal = checkManifest(JSON.parse(manifest));
      if (refusal.error !== undefined) return refusal;
      const app = Object.assign(makeApp(), { appId: `A0${newSecret().toUpperCase()}`, manifest: JSON.parse(manifest) });
      apps.push(app);
      const { appId: app_id, clientId: client_id, clientSecret: client_secret, signingSecret: signing_secret } = app;
      return { app_id, credentials: { client_id, client_secret, signing_secret } };
    },
    'apps.manifest.update'({ app_id, manifest }) {
      const app = apps.find(({ appId }) => appId === app_id);
      if (app === undefined) return { ok: false, error: 'app_not_found' };
      app.manifest = JSON.parse(manifest);
      return { app_id, permissions_updated: false };
    },
    'apps.manifest.delete'({ app_id }) {
      const at = apps.findIndex(({ appId }) => appId === app_id);
      if (at < 0) return { ok: false, error: 'app_not_found' };
      apps.splice(at, 1);
      return {};
    },
  };

  return {
    addTokens,
    expire: (configToken) => void tokens.delete(configToken),
    rotationsOf: (refreshToken) => brought.filter((each) => each === refreshToken).length,
    apps,
    answer(method, args, token) {
      if (method === 'tooling.tokens.rotate') {
        brought.push(args.refresh_token);
        if (!refreshTokens.delete(args.refresh_token)) return { ok: false, error: 'invalid_refresh_token' };
        const { config_token, config_refresh_token } = addTokens();
        const exp = Math.floor(Date.now() / 1_000) + LIFETIME_SECONDS;
        return { ok: true, token: config_token, refresh_token: config_refresh_token, exp };
      }
      const run = methods[method];
      if (run === undefined) return undefined;
      return tokens.has(token ?? '') ? { ok: true, ...run(args) } : { ok: false, error: 'token_expired' };
    },
  };
}

function checkManifest({ display_information: { description = '' } }: Json): Json {
  if (description.length <= MAX_DESCRIPTION_CHARS) return {};
  const fault = { message: 'Must be shorter', pointer: '/display_information/description' };
  return { ok: false, error: 'invalid_manifest', errors: [fault] };
}

function newSecret(): string {
  return randomBytes(6).toString('hex');
}
