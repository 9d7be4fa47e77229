export { createEppRegistry, type EppRegistryOptions } from './epp-registry.ts';
export {
  type EppServer,
  type EppServerLimits,
  startEppServer,
} from './server/start-epp-server.ts';
