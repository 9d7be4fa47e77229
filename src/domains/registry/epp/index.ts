export { createEppRegistry, type EppRegistryOptions } from './epp-registry.ts';
export type { ExpectedFees } from './registry-link.ts';
export {
  type EppServer,
  type EppServerLimits,
  type EppServerOptions,
  startEppServer,
} from './server/start-epp-server.ts';
