import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HColumnDescriptor;
import org.apache.hadoop.hbase.HTableDescriptor;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;

/** Makes the tables that OpenTSDB wants in an HBase that runs: a name, then its column families. */
public class OpentsdbTables {
    public static void main(String[] arguments) throws Exception {
        String[][] tables = {
            {"tsdb", "t"}, {"tsdb-uid", "id", "name"}, {"tsdb-tree", "t"}, {"tsdb-meta", "name"}};
        try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
                Admin admin = connection.getAdmin()) {
            for (String[] words : tables) {
                HTableDescriptor table = new HTableDescriptor(TableName.valueOf(words[0]));
                for (int at = 1; at < words.length; at++) {
                    table.addFamily(new HColumnDescriptor(words[at]));
                }
                admin.createTable(table);
            }
        }
    }
}
