/** One of several processes that serve together, as it sees the others. */
import cluster from 'node:cluster';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { Service } from '../service-name.ts';
import type { FromFirst, FromServing } from './messages.ts';

export interface ProcessGroup {
  /** Resolves once this process may listen on the ports. */
  freePorts(): Promise<void>;
  /** Says that this process serves, and what people are to be told. */
  tellServing(welcome: string): void;
  /** Whether every process of the group has begun to serve. */
  allServe(): boolean;
  /** The page that adds up what all processes count; this one's own are `metrics`. */
  share(service: Service, metrics: Metrics): Pick<Metrics, 'render' | 'contentType'>;
}

/** Whether this process was started by another one, to serve with it. */
export function isOneOfSeveral(): boolean {
  return cluster.isWorker;
}

/** Whether people are told what this process does while it starts. */
export function tellsItsSteps(): boolean {
  return cluster.worker === undefined || cluster.worker.id === 1;
}

/** Calls back when the first process asks this one to stop. */
export function onStopAsked(callback: (signal: NodeJS.Signals) => void): void {
  if (!cluster.isWorker) return;
  process.on('message', (message: FromFirst) => {
    if (message.type === 'stop') callback(message.signal);
  });
}

/** Undefined in a process that serves alone. */
export function joinProcesses(): ProcessGroup | undefined {
  if (!cluster.isWorker) return undefined;
  const tell = (message: FromServing) => void process.send?.(message);
  const portsFree = Promise.withResolvers<void>();
  const asked = new Map<number, (text: string) => void>();
  const pages = new Map<Service, Metrics>();
  let allServe = false;
  let questions = 0;
  process.on('message', (message: FromFirst) => {
    switch (message.type) {
      case 'ports free':
        portsFree.resolve();
        break;
      case 'all serve':
        allServe = true;
        break;
      case 'metrics':
        asked.get(message.id)?.(message.text);
        asked.delete(message.id);
        break;
      case 'take snapshot': {
        const { id, service } = message;
        void takeSnapshot(pages.get(service)).then((metrics) => tell({ type: 'snapshot', id, metrics }));
        break;
      }
      case 'stop':
        break;
    }
  });
  return {
    freePorts() {
      tell({ type: 'listening' });
      return portsFree.promise;
    },
    tellServing: (welcome) => tell({ type: 'serving', welcome }),
    allServe: () => allServe,
    share(service, metrics) {
      pages.set(service, metrics);
      return {
        contentType: metrics.contentType,
        render() {
          questions += 1;
          const { promise, resolve } = Promise.withResolvers<string>();
          asked.set(questions, resolve);
          tell({ type: 'metrics', id: questions, service });
          return promise;
        },
      };
    },
  };
}

/** What cannot be collected is not told, and nobody waits for it. */
async function takeSnapshot(metrics: Metrics | undefined): Promise<readonly object[]> {
  try {
    return (await metrics?.snapshot()) ?? [];
  } catch {
    return [];
  }
}
