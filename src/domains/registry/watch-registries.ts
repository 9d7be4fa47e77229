import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { Registry } from './registry.ts';

interface Watched {
  readonly registry: Pick<Registry, 'members'>;
  readonly metrics: Metrics;
}

/** Whether each registry can be reached, as metrics. */
export function watchRegistries({ metrics, registry }: Watched): void {
  metrics.gauge(
    'domains_registry_sessions',
    'Sessions of this process with each registry: 0 where it cannot be reached, or refuses the login',
    ['registry'],
    (gauge) => {
      for (const { countSessions, id } of registry.members) {
        const sessions = countSessions();
        if (sessions !== undefined) gauge.set({ registry: id }, sessions);
      }
    },
  );
}
