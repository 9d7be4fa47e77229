/** Stands for the program in commands of a shell: has the process whose address VERBS is run the verb, and ends as that did. */
const answer = await fetch(process.env.VERBS ?? '', { method: 'POST', body: JSON.stringify(process.argv.slice(2)) });
const { code, stdout, stderr } = (await answer.json()) as { code: number; stdout: string; stderr: string };
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;

export {};
