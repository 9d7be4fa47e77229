import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Figure, type Findings, isMet } from './figure.ts';
import type { Machine } from './machine.ts';
import type { MeasureName } from './options.ts';

export interface Report {
  readonly machine: Machine;
  readonly store: string;
  readonly quick: boolean;
  readonly findings: ReadonlyMap<MeasureName, Findings>;
  readonly errors: ReadonlyMap<MeasureName, string>;
}

export function renderMarkdown({ machine, store, quick, findings, errors }: Report): string {
  const { cpu, cores, memory_gb, os, node, commit, date } = machine;
  const rows = [...findings.values()].flatMap(({ figures }) => figures).map(renderRow);
  const remarks = [
    ...(quick ? ['**Quick: too short to judge by.**'] : []),
    `Before the measurement other work kept the machine ${Math.round(machine.busy_before * 100)} % busy.`,
    ...[...findings.values()].flatMap((found) => found.remarks),
    ...[...errors].map(([name, message]) => `**${name} could not be measured:** ${message.split('\n')[0]}`),
  ];
  return [
    `Ironcraft ${commit}, ${date}`,
    '',
    `${cpu}, ${cores} cores, ${memory_gb} GB · ${os} · Node ${node} · ${store}`,
    '',
    '| figure | measured | bar | met |',
    '|---|---:|---:|---|',
    ...rows,
    '',
    ...remarks.map((remark) => `- ${remark}`),
    '',
  ].join('\n');
}

function renderRow(figure: Figure): string {
  const { name, value, unit, bar } = figure;
  const met = isMet(figure);
  const limit = bar === undefined ? '' : `${renderBar(bar)} ${unit}`;
  return `| ${name} | ${renderNumber(value)} ${unit} | ${limit} | ${met === undefined ? '' : met ? 'yes' : '**no**'} |`;
}

function renderBar(bar: NonNullable<Figure['bar']>): string {
  // A bar may itself have been measured.
  const render = (limit: number) => (Number.isInteger(limit) ? String(limit) : renderNumber(limit));
  if ('below' in bar) return `< ${render(bar.below)}`;
  return 'atMost' in bar ? `≤ ${render(bar.atMost)}` : `≥ ${render(bar.atLeast)}`;
}

function renderNumber(value: number): string {
  if (value > 0 && value < 0.1) return value.toPrecision(2);
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export async function writeJson(path: string, report: Report): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const measures = Object.fromEntries(
    [...report.findings].map(([name, { figures, remarks, details }]) => [
      name,
      { figures: figures.map((figure) => ({ ...figure, met: isMet(figure) })), remarks, details },
    ]),
  );
  const { machine, store, quick, errors } = report;
  const content = { machine, store, quick, measures, errors: Object.fromEntries(errors) };
  await writeFile(path, `${JSON.stringify(content, null, 2)}\n`);
}
