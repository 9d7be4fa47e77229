/** The box that commands of `run_command` run in, as the rest of the platform knows it. */
export { sandboxSecretContext } from './secret-context.ts';
