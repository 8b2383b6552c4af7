// What the JSON of a dashboard may say, put together from the types that Grafana publishes as
// @grafana/schema. Those leave open what only a panel's plugin knows: here each panel's `options`,
// `custom` and overrides have the types of its own plugin.
import type * as model from '@grafana/schema';
import type * as bargauge from 'panels/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen';
import type * as heatmap from 'panels/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type * as stat from 'panels/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as table from 'panels/table/panelcfg/x/TablePanelCfg_types.gen';
import type * as timeseries from 'panels/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// Enums of strings as the strings that stand in JSON.
type Json<T> = T extends string
  ? `${T}`
  : T extends (infer Item)[]
    ? Json<Item>[]
    : T extends object
      ? { [Key in keyof T]: Json<T[Key]> }
      : T;

// Grafana fills in what `options` and `custom` do not say, at any depth.
type Some<T> = T extends unknown[] ? T : T extends object ? { [Key in keyof T]?: Some<T[Key]> } : T;

type Field = Omit<Json<model.FieldConfig>, 'custom'>;

type Override<Custom> =
  | { [Key in keyof Field]-?: { id: Key; value: Field[Key] } }[keyof Field]
  | { [Key in keyof Custom & string]-?: { id: `custom.${Key}`; value: Custom[Key] } }[keyof Custom & string];

// Of @grafana/data, which no published package has without all of Grafana's front end:
// packages/grafana-data/src/transformations/transformers.
type Transformation =
  | { id: 'merge'; options: Record<string, never> }
  | { id: 'sortBy'; options: { sort: { field: string; desc?: boolean }[] } }
  | {
      id: 'organize';
      options: {
        excludeByName: Record<string, boolean>;
        indexByName: Record<string, number>;
        renameByName: Record<string, string>;
      };
    }
  | {
      id: 'convertFieldType';
      options: { conversions: { targetField: string; destinationType: 'number' | 'string' | 'time' }[] };
    }
  | {
      id: 'groupingToMatrix';
      options: {
        rowField: string;
        columnField: string;
        valueField: string;
        emptyValue: 'true' | 'false' | 'null' | 'empty' | 'zero';
      };
    };

// packages/grafana-prometheus/src/types.ts: PromQuery.
type Query = {
  refId: string;
  datasource: { type: 'prometheus'; uid: string };
  expr: string;
  format: 'time_series' | 'table' | 'heatmap';
  instant: boolean;
  range: boolean;
  legendFormat?: string;
};

type Of<Type extends string, Options, Custom = Record<string, never>> = Omit<
  Json<model.Panel>,
  'type' | 'options' | 'fieldConfig' | 'targets' | 'transformations'
> & {
  type: Type;
  options: Some<Json<Options>>;
  fieldConfig: {
    defaults: Field & { custom?: Some<Json<Custom>> };
    overrides: { matcher: { id: 'byName'; options: string }; properties: Override<Json<Custom>>[] }[];
  };
  targets: Query[];
  transformations?: Transformation[];
};

type Panel =
  | Of<'bargauge', bargauge.Options>
  | Of<'heatmap', heatmap.Options, heatmap.FieldConfig>
  | Of<'stat', stat.Options>
  | Of<'table', table.Options, table.FieldConfig>
  | Of<'timeseries', timeseries.Options, timeseries.FieldConfig>
  | Json<model.RowPanel>;

// The variables, and the alerts drawn as annotations: both have properties of their data source.
type Variable = Json<model.VariableModel> & { definition?: string };
type Annotation = Json<model.AnnotationQuery> &
  Partial<Record<'expr' | 'step' | 'textFormat' | 'titleFormat', string>>;

export type Dashboard = Omit<Json<model.Dashboard>, 'panels' | 'templating' | 'annotations'> & {
  annotations: { list: Annotation[] };
  templating: { list: Variable[] };
  panels: Panel[];
};
