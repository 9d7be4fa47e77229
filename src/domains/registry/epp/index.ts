export { changeEppPassword, tryEppLogin } from './client/change-password.ts';
export type { EppEndpoint } from './client/connection.ts';
export { createEppRegistry, type EppRegistryOptions } from './epp-registry.ts';
export type { IdnRules } from './idn-tables.ts';
export type { LaunchPhase } from './registry-link.ts';
export { followRules, REFUSALS, RULED_COMMANDS } from './server/answer-rules.ts';
export { limitCommands } from './server/command-limits.ts';
export type { ChooseDelivery } from './server/deliveries.ts';
export type { ServedLaunch, ServerHabits } from './server/habits.ts';
export {
  type EppServer,
  type EppServerLimits,
  type EppServerOptions,
  startEppServer,
} from './server/start-epp-server.ts';
