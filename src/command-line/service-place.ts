/** Where a service of this process listens. */
import { type Config, publicUrlFor } from '../kernel/config/config.ts';
import { type HeldPort, holdPort } from './hold-port.ts';
import type { ProcessGroup } from './processes/join-processes.ts';
import type { Service } from './service-name.ts';

export interface Place {
  readonly service: Service;
  readonly host: string;
  readonly held: HeldPort;
  readonly publicUrl: string;
  readonly variable: string;
}

/** Rejects, naming the setting, where the port is in use. */
export async function holdPlace(config: Config, service: Service, group: ProcessGroup | undefined): Promise<Place> {
  const { host } = config;
  const [own, variable] =
    service === 'platform' ? [config, 'IRONCRAFT_PORT'] : [config.domains, 'IRONCRAFT_DOMAINS_PORT'];
  // Of several processes the first one holds it for all, until the first of them listens.
  const held =
    group === undefined
      ? await holdPort(host, own.port, variable)
      : { port: own.port, release: () => group.freePorts() };
  const publicUrl = publicUrlFor({ host, publicUrl: own.publicUrl }, held.port);
  return { service, host, held, publicUrl, variable };
}
