import { isIP } from 'node:net';
import type { Config } from './config.ts';

type Listening = Pick<Config, 'host' | 'publicUrl' | 'modelPrivateAddresses'>;

/**
 * Whether tenants from elsewhere could make the server call its own network: others than this machine's users reach it, and
 * a tenant's base URL of a model may be any private address.
 */
export function exposesPrivateNetwork({ host, publicUrl, modelPrivateAddresses }: Listening): boolean {
  if (modelPrivateAddresses !== 'allow') return false;
  return !isLoopback(host) || (publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname));
}

/** What the operator is told of it, and what to do. */
export const PRIVATE_NETWORK_EXPOSED = {
  problem:
    'IRONCRAFT_MODEL_PRIVATE_ADDRESSES is "allow" on a server that others reach: every tenant can make it call its own machine and network',
  fix: 'Remove it, and name the model servers that tenants may reach in IRONCRAFT_OUTBOUND_ALLOW, such as 127.0.0.1:11434.',
} as const;

function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.+)\]$/, '$1').toLowerCase();
  return isIP(bare) === 4 ? bare.startsWith('127.') : bare === '::1' || bare === 'localhost';
}
