import { nameScenarios } from './domains-scenarios.ts';
import { testScenarios } from './run-scenario.ts';

testScenarios(nameScenarios);
